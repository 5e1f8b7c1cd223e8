"""A camera's process: its loop, its orders and reports, previews and tuning.

Other folders import board_detection, board_watch, camera, control, detector, link, plan, preview, preview_image, priority.
"""
