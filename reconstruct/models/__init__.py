"""What is known of how people pose and move: one room for each paper, pure, no processes."""
