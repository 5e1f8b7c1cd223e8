"""The pose stream: malformed messages, the posing page, pictures of pages for the documents."""
