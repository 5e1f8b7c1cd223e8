"""The posing page in a real browser: how soon the body follows a drag, and poses made from pictures by clicks."""
