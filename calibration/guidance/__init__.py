"""What somebody who moves a board or takes up a T-pose is told to do next."""
