"""The processes of reconstruction.

`main`: from blobs of the cameras' processes (`inbox`) by `reconstruction` to a `sink`, recorded in a `journal`; `learner`:
learns styles during a run, over a `learner_connection`.

Other folders import inbox, journal, learner, main, reconstruction, sink.
"""
