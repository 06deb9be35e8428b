"""What other libraries, and common mistakes, compute under the names of measures."""
