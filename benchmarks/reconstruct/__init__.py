"""Search and local model against other libraries; the real recording without a truth."""
