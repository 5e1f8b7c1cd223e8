"""The web server behind every page, and what the pages share: widgets, HTML pieces and previews of the cameras.

Other folders import canvas, document, landmarks, picture, preview, server.
"""
