"""Every setting, typed and frozen, one section a stage.

The comments beside the fields are the user's documentation: `python -m tools.defaults` writes them to config/defaults.toml.
"""

from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

CAMERA_NAMES: Final = ("left", "right", "third", "fourth", "fifth", "sixth", "seventh", "eighth")  # of a rig, in its order
LOCAL_MODELS: Final = ("gaussian", "paper", "paper-si")  # the names of the registry (reconstruct/track/local_models.py)
LANDMARK_MODELS: Final = ("lite", "full", "heavy")  # BlazePose's
INTERNAL = "not a setting: the program's own"
Signed = Annotated[float, "may be negative"]
Control = Annotated[str, "auto or a number"]
Changes = dict[str, Any]
Numbers = Annotated[tuple[float, ...], "a list of numbers, which may be negative"]


@dataclass(frozen=True, slots=True)
class DetectorSettings:
    """Foreground and blobs."""

    mode: Literal["auto", "dark", "background"] = "auto"  # dark: retro-reflectors; background: lit room; auto: by the images
    k_sigma: float = 6.0  # foreground is further than this many standard deviations from the background
    min_difference: float = 12.0  # and at least this many grey levels of 255
    min_area_px: float = 3.0  # smaller blobs are noise
    learn_s: float = 3.0  # time over which the empty room is learned on request


@dataclass(frozen=True, slots=True)
class CameraSettings:
    """What is asked of a webcam; what it does differently is reported. Numbers are the driver's own."""

    backend: str = "auto"  # of OpenCV: v4l2, dshow, msmf, avfoundation; auto: the best of the system
    width: int = 640  # of the images [px]; the nearest the camera has
    height: int = 480  # likewise
    fps: float = 60.0  # the nearest rate the camera has
    fourcc: str = "MJPG"  # pixel format on the cable; MJPG lets two cameras share one USB port
    exposure: Control = "auto"  # auto or a number; short for reflecting markers, to avoid motion blur
    gain: Control = "auto"  # auto or a number
    white_balance: Control = "auto"  # auto or a temperature [K]
    focus: Control = "auto"  # auto or a number


@dataclass(frozen=True, slots=True)
class LandmarkSettings:
    """Landmarks of the body in the pictures, as markers of another kind."""

    model: Literal["off", "lite", "full", "heavy"] = "off"  # BlazePose's; the larger, the better and slower (duocap doctor)


@dataclass(frozen=True, slots=True)
class TimeSettings:
    """The cameras' clocks and shutters."""

    interpolate: bool = True  # interpolate each camera's markers to the time of the moment
    estimate: bool = True  # track offset and drift of the other cameras' timestamps, beside the first's, by the epipolar error
    offset_ms: Signed = 0.0  # by how much the right camera's timestamps are late, if it is known beforehand
    more_offsets_ms: Numbers = ()  # the same for the third camera and those after it, such as [3.5, -2.0]
    row_time_left_us: float = 0.0  # rolling shutter: time from one row to the next, 0: all rows at once
    row_time_right_us: float = 0.0  # the same for the right camera
    more_row_times_us: Numbers = ()  # the same for the third camera and those after it

    def offset_of(self, camera: int) -> float:
        """Return by how much a camera's timestamps are late [ms]."""
        return _find_camera_value(camera, (0.0, self.offset_ms, *self.more_offsets_ms))

    def row_time_of(self, camera: int) -> float:
        """Return a camera's time from one row to the next [us]."""
        return _find_camera_value(camera, (self.row_time_left_us, self.row_time_right_us, *self.more_row_times_us))


def _find_camera_value(camera: int, values: tuple[float, ...]) -> float:
    """Return the value of a camera, 0 where there is none."""
    return values[camera] if camera < len(values) else 0.0


@dataclass(frozen=True, slots=True)
class CaptureSettings:
    """Sockets for camera nodes on other machines, open only while a run expects one; and the file of tuned values."""

    control: str = "tcp://127.0.0.1:5572"  # requests, reports and clocks; such as tcp://192.168.1.10:5572, with `duocap keys`
    inbox: str = "tcp://127.0.0.1:5573"  # their blobs; nodes connect to it at the host of control
    tuned: str = ""  # file of what was tuned in the viewer, by camera; empty: the user's own


@dataclass(frozen=True, slots=True)
class SideSettings:
    """Values that one camera has instead of those of the sections of the same name; only given values, checked.

    name: of the camera, under which tuned values are stored, empty where it is not known.
    """

    detector: Annotated[Changes, DetectorSettings] = field(default_factory=dict)
    camera: Annotated[Changes, CameraSettings] = field(default_factory=dict)
    name: Annotated[str, INTERNAL] = ""


@dataclass(frozen=True, slots=True)
class MatchSettings:
    """Epipolar matching of the two views."""

    max_epipolar_px: float = 8.0  # largest distance from the epipolar line; the cameras seldom expose at exactly the same time
    epipolar_sigma_px: float = 0.8  # usual distance from the epipolar line
    skew_px_s: float = 150.0  # added to it per second between the two exposures: how fast markers cross the image
    color_sigma: float = 40.0  # usual difference of colour between the views, of 255
    temporal_sigma_m: float = 0.06  # usual distance from where the last pose predicts a marker
    extent_m: float = 0.6  # usual distance of a marker from the middle of the body
    depth_extent_m: float = 0.25  # usual distance in depth, used where there is no prediction
    min_depth_m: float = 0.3  # nearer points are not markers
    max_depth_m: float = 15.0  # farther points are not markers either
    rig_sigma_px: float = 0.3  # what calibration and time skew add to the uncertainty of every blob's centre


@dataclass(frozen=True, slots=True)
class LabelSettings:
    """Which point is which marker, as probabilities; hypotheses that are followed; what a pose is called by its errors."""

    stays_seen: float = 0.98  # probability that a marker that was seen is seen in the next frame
    seen_again: float = 0.05  # and that one that was not is
    false_points_m3: float = 5e-4  # points that are no markers, in a frame and cubic metre
    false_blobs_px2: float = 2e-7  # blobs that are no markers, in a view and square pixel
    marker_sigma_m: float = 0.012  # how far a marker is from where its pose has it
    stray: float = 0.03  # probability that a marker is anywhere near where it is expected
    stray_m: float = 0.25  # standard deviation of where it is then
    beam: int = 4  # hypotheses that are followed
    branch: float = 9.0  # by how much less likely other labels of a frame may be to be tried, as a natural logarithm
    hopeless: float = 20.0  # by how much less likely a hypothesis is when it is dropped
    tracking_m: float = 0.06  # mean expected error of all joints up to which a pose is called tracking
    measured_m: float = 0.16  # and the largest of the joints that are measured
    coasting_m: float = 0.25  # mean expected error up to which a pose is called coasting; beyond it the performer is lost
    lag_s: float = 0.0  # by how much what is published is older than what was seen last, and has been decided by it
    give_up_m: float = 0.5  # standard deviation of the root beyond which a hypothesis is given up
    landmark_score: float = 0.13  # of a landmark, from which on it is more likely seen than guessed
    landmark_usual_score: float = 0.83  # of which a landmark is as exact as the marker file says
    landmark_fade: float = 1.85  # by how much larger its errors are, as a natural logarithm, where the score is less by 1
    landmark_steep: float = 10.0  # by how much likelier it is only guessed, as a natural logarithm, where the score is less by 1
    landmark_stray_m: float = 0.12  # how far off a guess is
    landmark_jumps: float = 0.001  # probability that a landmark moves in a way that nobody foresees, in a frame
    exchange_rate: float = 0.2  # how often in a second a view begins to show arms, legs or the body with left and right exchanged
    exchange_lasts_s: float = 0.5  # how long it does


@dataclass(frozen=True, slots=True)
class SolveSettings:
    """Query, neighbours, what is carried from frame to frame, and synthesis."""

    model: str = "gaussian"  # shrunk covariance of neighbours; paper: as in the paper, in cm and degrees; paper-si: m, rad
    neighbours: int = 80  # poses of the database that make up the local model
    query_marker_sigma_m: float = 0.03  # usual distance of a marker from that of a good neighbour
    query_pose_sigma_rad: float = 0.28  # usual difference of a joint from that of a good neighbour
    sharpness: float = 1.0  # how fast a neighbour's weight decreases with its distance
    background: float = 0.1  # share of the whole database's covariance that is added to the neighbours'
    floor_rad: float = 0.04  # and standard deviation added to every joint coordinate
    shrinkage: float = 0.1  # share of the neighbours' covariance that is replaced by its diagonal
    familiar: float = 0.6  # scale of deviations of what the neighbours say of a pose that is one of them
    by_strangeness: float = 10.0  # and by how much more of it for every radian (RMS over joints) that the nearest is away
    step_spread: float = 10.0  # variance of a joint's velocity, in variances of the neighbours' steps
    step_drift_rad: float = 0.05  # plus this standard deviation in 1/60 s, on average over the joints
    root_drift_rad: float = 0.03  # the same of the root's turn
    root_drift_m: float = 0.02  # and of its shift [m]
    bend_share: float = 0.25  # share of the whole database's second differences that is added to the neighbours'
    bend_noise: float = 16.0  # variance of a velocity's departure, in variances of second differences
    pose_rate: float = 5.0  # how often in a second the neighbours' poses count as new: their errors last for many frames
    velocity_rate: float = 180.0  # and the neighbours' steps
    tilt_rate: float = 18.0  # and the neighbours' tilt, where not all of the torso is seen
    neighbour_certainty: float = 0.4  # share of what they say that makes the pose more certain: their errors last
    joint_velocity_s: float = 0.5  # time in which a velocity fades that nothing supports
    root_velocity_s: float = 2.0  # likewise of the root: who walks, walks on
    change_spread: float = 2.0  # variance of a pose's change over a long step, in variances of the neighbours' changes
    change_drift: float = 0.05  # plus this standard deviation of every coordinate [rad, m]
    limits: bool = True  # hold joints to the range of the database
    root_sigma_rad: float = 0.05  # usual deviation of the root from its predicted orientation, in 1/60 s
    root_sigma_m: float = 0.03  # and from its predicted position
    marker_sigma_m: float = 0.006  # how far markers move on skin and cloth
    landmark_lasts_s: float = 0.03  # time constant of the errors of landmarks: those of consecutive frames are alike
    robust_sigmas: float = 3.0  # marker errors beyond this many standard deviations weigh less
    max_iterations: int = 12  # of Levenberg-Marquardt, a frame


@dataclass(frozen=True, slots=True)
class FillSettings:
    """Prediction of what neither camera sees of the performer."""

    model: Literal["auto", "local", "style", "sparse"] = "auto"  # auto: for each limb what held-out checks favour; local: neither
    style: bool = True  # learn the style of the motion while it is captured
    dictionary: str = ""  # a pose dictionary (duocap sparse train); it needs no learning in the session

    @property
    def uses_style(self) -> bool:
        """Whether styles are learned and used."""
        return self.style and self.model in ("auto", "style")

    @property
    def uses_dictionary(self) -> bool:
        """Whether a dictionary is used."""
        return bool(self.dictionary) and self.model in ("auto", "sparse")


@dataclass(frozen=True, slots=True)
class FeetSettings:
    """Contacts of the feet, and keeping them from sliding."""

    lock: bool = True  # keep a foot that touches the ground where it is; contacts are reported either way
    enter: float = 0.5  # probability of contact at which one begins
    leave: float = 0.35  # and below which it ends
    blend_s: float = 0.08  # time over which a foot is locked or released
    limit_m: float = 0.1  # largest distance of a locked foot from where the pose has it, if no camera sees its marker
    measured_limit_m: float = 0.01  # as limit_m, if a camera sees its marker
    sigma_m: float = 0.035  # usual error of a foot in the pose
    measured_sigma_m: float = 0.008  # as sigma_m, if a camera sees its marker
    slip_m: float = 0.015  # how far a foot in contact may really move in a second


@dataclass(frozen=True, slots=True)
class FilterSettings:
    """Smoothing of the poses that are published; the estimator's own are not changed."""

    output: bool = True  # remove the jitter of a body that stands still
    still_hz: float = 0.5  # cut-off for a part that does not move: slower changes than this pass
    fast_m_s: float = 0.35  # a part moves if its joints do so at this speed over 0.1 s
    slow_m_s: float = 0.11  # or at this over 0.3 s
    stray_m: float = 0.04  # or are this far from where they are published


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """Publishing of poses."""

    address: str = "tcp://127.0.0.1:5570"  # ZeroMQ PUB; 127.0.0.1 is this machine only, port 0 takes a free one
    service: str = "tcp://127.0.0.1:5571"  # requests: clock, recording, info; empty: none, port 0 takes a free one
    recordings: str = ""  # folder of recordings started by the viewer or a client; empty: duocap in the user's documents
    budget_ms: float = 33.0  # a pose should be received this soon after its capture, 19 times in 20
    predict_ms: float = 0.0  # publish poses as predicted for this long after their capture, at most 100
    keys: str = ""  # folder of `duocap keys`, required on every socket; empty: the user's own, for other machines only
    open: bool = False  # true: no keys, anybody in the network can read the poses
    preview: bool = True  # small pictures of the cameras for the viewer on this machine; encoded only while they are shown


@dataclass(frozen=True, slots=True)
class ViewerSettings:
    """The page that shows the stream or recordings."""

    host: str = "127.0.0.1"  # where it is served; this machine only, unless another address is given
    port: int = 8080  # the next free one if it is taken, 0 takes any
    theme: Literal["dark", "light", "auto"] = "auto"  # auto: as the system is
    history_minutes: float = 5.0  # how much of a running stream is kept to go back in
    avatar: str = ""  # a file (.vrm, .glb) whose body moves in place of the performer's; empty: the performer's


@dataclass(frozen=True, slots=True)
class DatabaseSettings:
    """Where published motions are got from."""

    mirror: str = ""  # http(s) address with the publishers' files under their own paths; empty: the publishers themselves


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of one run; given: the dotted names of those set by a file or the command line."""

    detector: DetectorSettings = field(default_factory=DetectorSettings)
    camera: CameraSettings = field(default_factory=CameraSettings)
    landmarks: LandmarkSettings = field(default_factory=LandmarkSettings)
    time: TimeSettings = field(default_factory=TimeSettings)
    capture: CaptureSettings = field(default_factory=CaptureSettings)
    match: MatchSettings = field(default_factory=MatchSettings)
    label: LabelSettings = field(default_factory=LabelSettings)
    solve: SolveSettings = field(default_factory=SolveSettings)
    fill: FillSettings = field(default_factory=FillSettings)
    feet: FeetSettings = field(default_factory=FeetSettings)
    filter: FilterSettings = field(default_factory=FilterSettings)
    stream: StreamSettings = field(default_factory=StreamSettings)
    viewer: ViewerSettings = field(default_factory=ViewerSettings)
    database: DatabaseSettings = field(default_factory=DatabaseSettings)
    left: SideSettings = field(default_factory=SideSettings)
    right: SideSettings = field(default_factory=SideSettings)
    third: SideSettings = field(default_factory=SideSettings)
    fourth: SideSettings = field(default_factory=SideSettings)
    fifth: SideSettings = field(default_factory=SideSettings)
    sixth: SideSettings = field(default_factory=SideSettings)
    seventh: SideSettings = field(default_factory=SideSettings)
    eighth: SideSettings = field(default_factory=SideSettings)
    given: Annotated[frozenset[str], INTERNAL] = field(default=frozenset(), compare=False, repr=False)
