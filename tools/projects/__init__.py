"""Project folders of other programs in: which video is of which camera, its frames' times, the board; a pair of cameras out."""
