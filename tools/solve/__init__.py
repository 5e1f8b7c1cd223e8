"""Marker files of optical systems into poses: `duocap solve`.

In: C3D or TRC, labelled or not (`calibration.subject.labelled` says what labels mean). `tracks` cuts columns into tracks,
`unlabelled` finds labels where there are none, `solve` is the whole way, `motion` and `fill` parts of it, `report` what is told
and written.
"""
