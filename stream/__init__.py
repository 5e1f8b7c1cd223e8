"""The world outside: messages, sockets, recordings, files of other programs, VMC, pages.

In: `Pose`s. Out: messages on ZeroMQ (protocol/, publish/), recordings (recording/), files (export/), VMC (vmc/), the page that
guides a calibration (guidance/) and the viewer (viewer/), both served by web/.
"""
