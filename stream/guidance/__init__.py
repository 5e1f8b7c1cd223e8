"""The page that guides a calibration: what the cameras see, what is needed yet, and what came out."""
