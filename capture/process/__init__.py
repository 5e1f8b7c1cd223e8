"""A camera's process: its loop, its orders and reports, previews and tuning."""
