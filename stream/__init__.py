"""The world outside: messages, publisher, recordings, exports, VMC, viewer."""
