"""Windows of time, and alarms of rates and of drift."""
