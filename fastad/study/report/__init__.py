"""The report of a study: sections of tables and pictures, and the page that shows them."""
