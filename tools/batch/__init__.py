"""Many takes as one job: a job file or folders come in, a folder for each take and one report go out.

`job` makes `BatchTask`s, words of a command each; `execute` runs one in a worker, which is a process of `tools.cluster`; `batch`
decides what is still to be done and collects; `report` and `page` tell.
"""
