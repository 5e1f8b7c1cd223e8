"""The world outside: messages, publisher, exports."""
