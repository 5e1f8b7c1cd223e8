"""The camera of a picture from joints that are clicked in it, where the body is known: perspective from points.

    minimise  sum |(project(K, R p + t) - u) / CLICK|^2
              + (log(f / f0) / FOCAL_SIGMA)^2 + (roll / ROLL_RAD)^2 + ((h - h0) / HEIGHT_M)^2

over rotation, position and, where the lens is not known, the focal length f; h is the camera's height. The weak last terms are
what pictures of people have in common; without them a body, nearly flat, is seen from above as well as from below. It starts
from OpenCV's `solvePnP` at several focal lengths, and from views all around the body. Where the pose is not known either, many
known ones are tried.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import cv2
import numpy as np
from scipy.optimize import OptimizeResult, least_squares

from calibration.camera import Camera
from calibration.placement import intrinsics_from_fov, make_camera_looking_at
from config.arrays import Floats
from config.joints import JOINT_INDEX
from config.words import format_count
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix
from stream.posing.document import ImagePoint, PictureView, PosingError
from stream.posing.picture import find_picture_camera

MIN_KNOWN, MIN_UNKNOWN, MIN_UNPOSED = 4, 6, 8  # joints: with a known lens, without, and where the pose is unknown, too
CLICK = 0.0025  # standard deviation of clicks, of the picture's longer side
USUAL_FOV_DEG, FOCAL_SIGMA = 55.0, 0.4
ROLL_RAD = 0.15
USUAL_HEIGHT_M, HEIGHT_M = 1.3, 1.0
FOVS_DEG = (25.0, 40.0, 55.0, 75.0, 95.0)
AROUND_RAD = np.radians(np.arange(0.0, 360.0, 45.0))
MIN_FLATNESS = 0.04  # second to first extent of points that are not on one line
MIN_EXTENT = 0.03  # of the clicks, of the picture's longer side
MIN_DEPTH_M = 0.3
MAX_MISS = 0.12  # of the clicks' extent: beyond, the body is not posed as in the picture
BEHIND = 1e3  # residual of a point behind the camera
REFINED, RETURNED = 6, 3  # of the known poses
BEFORE_FOVS_DEG, BEFORE_HEIGHTS_M = (40.0, 55.0, 72.0), (0.5, 1.3, 2.2)
RADIUS_M, MIDDLE_M, MAX_RISE = 0.95, 0.9, 0.85  # of a body, of its middle above the floor, and sine of the steepest view


@dataclass(frozen=True, slots=True)
class SolvedCamera:
    """A camera that was solved.

    Attributes:
        error_px: RMS over the joints.
        worst: the joint that is missed most, by worst_px.
        focal_sigma: standard deviation of the focal length, relative; 0 where it was known.
    """

    camera: Camera
    error_px: float
    worst: str
    worst_px: float
    focal_sigma: float


def solve_picture_camera(
    picture: PictureView, image_points: Mapping[str, ImagePoint], joint_m: Floats, known_lens: bool = False
) -> SolvedCamera:
    """Return the camera that sees joints where they are clicked.

    Args:
        picture: picture that is clicked in.
        image_points: image point of each clicked joint, by name [px].
        joint_m: joints of the body, (J, 3) world [m].
        known_lens: the lens is that of the picture's camera, else its focal length is solved for.
    Raises: PosingError: too few joints, on one line, or not seen so from anywhere.
    """
    names = tuple(image_points)
    image_px = np.array([image_points[name] for name in names], np.float64).reshape(-1, 2)
    points_m = joint_m[[JOINT_INDEX[name] for name in names]]
    _check_clicks(image_px, picture, MIN_KNOWN if known_lens else MIN_UNKNOWN)
    _check_not_collinear(image_px, points_m)
    search = _Search(image_px, points_m, find_picture_camera(picture), known_lens)
    x, jacobian = search.best()
    camera = search.camera(x)
    miss_px = np.nan_to_num(np.linalg.norm(camera.project(points_m) - image_px, axis=1), nan=np.inf)
    worst = int(miss_px.argmax())
    rms_px = float(np.sqrt((miss_px**2).mean()))
    if not rms_px <= MAX_MISS * _compute_extent(image_px):
        raise PosingError(
            f"no camera sees this pose as it is clicked: {names[worst]} is off by {miss_px[worst]:.0f} px; "
            "click it again, or pose the body more like the picture first"
        )
    sigma = 0.0 if known_lens else float(np.sqrt(np.linalg.pinv(jacobian.T @ jacobian)[-1, -1]))
    return SolvedCamera(camera, rms_px, names[worst], float(miss_px[worst]), sigma)


def fit_cameras_to_poses(
    picture: PictureView, image_points: Mapping[str, ImagePoint], poses_m: Floats, known_lens: bool = False
) -> list[Camera]:
    """Return cameras that see known poses nearly as joints are clicked, of the poses that fit best, best first.

    Args:
        picture: picture that is clicked in.
        image_points: image point of each clicked joint, by name, (2,) [px].
        poses_m: joints of poses that stand on a floor at 0, (N, J, 3) [m].
        known_lens: the lens is that of the picture's camera.
    Raises: PosingError: too few joints, or on one line.
    """
    names = tuple(image_points)
    image_px = np.array([image_points[name] for name in names], np.float64).reshape(-1, 2)
    _check_clicks(image_px, picture, MIN_UNPOSED)
    _check_not_collinear(image_px)
    lens, rows = find_picture_camera(picture), [JOINT_INDEX[name] for name in names]
    searches = [_Search(image_px, np.ascontiguousarray(pose_m[rows]), lens, known_lens) for pose_m in poses_m]
    ranked = sorted((search.first(), n) for n, search in enumerate(searches))
    found = [(search := searches[n], search.refined(search.by_perspective())) for _, n in ranked[:REFINED]]
    found.sort(key=lambda pair: float(pair[1].cost))
    return [search.camera(np.asarray(each.x)) for search, each in found[:RETURNED]]


def guess_cameras(picture: PictureView, image_points: Mapping[str, ImagePoint], known_lens: bool = False) -> list[Camera]:
    """Return cameras in front of a body of which joints are clicked, at several heights, and with several fields of view where
    the lens is not known: so far away that the body is as large as it is clicked.

    Args:
        picture: picture that is clicked in.
        image_points: image point of each clicked joint, by name, (2,) [px].
        known_lens: the lens is that of the picture's camera.
    """
    lens, image_px = find_picture_camera(picture), np.array(list(image_points.values()), np.float64).reshape(-1, 2)
    radius_px = float(np.linalg.norm(image_px - image_px.mean(axis=0), axis=1).max())
    matrices = [lens.matrix] if known_lens else [intrinsics_from_fov(picture.size, angle) for angle in BEFORE_FOVS_DEG]
    found = []
    for K in matrices:
        away_m = RADIUS_M * K[0, 0] / max(radius_px, 1.0)
        for height_m in BEFORE_HEIGHTS_M:
            rise = np.clip((height_m - MIDDLE_M) / away_m, -MAX_RISE, MAX_RISE)
            eye_m = (0.0, MIDDLE_M + rise * away_m, away_m * np.sqrt(1.0 - rise**2))
            view = make_camera_looking_at("solved", picture.size, K, eye_m, (0.0, MIDDLE_M, 0.0))
            found.append(replace(view, distortions=lens.distortions, fisheye=lens.fisheye) if known_lens else view)
    return found


def scale_camera_to_picture(picture: PictureView, camera: Camera, floor_known: bool) -> Camera:
    """Return a calibrated camera for a picture that was taken with it, scaled to its size.

    Args:
        picture: picture that was taken with it.
        camera: the camera as calibrated.
        floor_known: it is used where it stands; else only its lens, in the place of the camera that the picture has.
    Raises: PosingError: the picture has another shape than that camera's images.
    """
    across, down = picture.size[0] / camera.size[0], picture.size[1] / camera.size[1]
    if abs(across / down - 1.0) > 0.01:
        raise PosingError(
            f"camera {camera.name} takes pictures of {camera.size[0]}x{camera.size[1]} px, this one has "
            f"{picture.size[0]}x{picture.size[1]}; expected one of the same shape, not cut"
        )
    K = camera.matrix.copy()
    K[:2, 2] = (K[:2, 2] + 0.5) * (across, down) - 0.5
    K[0, 0], K[1, 1] = across * K[0, 0], down * K[1, 1]
    place = camera if floor_known else find_picture_camera(picture)
    return replace(camera, size=picture.size, matrix=K, rotation=place.rotation.copy(), translation=place.translation.copy())


def compute_fov_deg(camera: Camera) -> float:
    """Return the horizontal field of view [degrees]."""
    return float(np.degrees(2.0 * np.arctan(0.5 * camera.size[0] / camera.matrix[0, 0])))


def _check_clicks(image_px: Floats, picture: PictureView, least: int) -> None:
    """Raise PosingError for clicks that are too few or at one place."""
    if len(image_px) < least:
        fewer = f"; or {MIN_KNOWN} for the pose as it stands, with 'Keep its lens'" if least > MIN_KNOWN else ""
        raise PosingError(
            f"{format_count(len(image_px), 'joint is', 'joints are')} clicked in the picture; a camera needs {least} or "
            f"more{fewer}"
        )
    if _compute_extent(image_px) < MIN_EXTENT * max(picture.size):
        raise PosingError("the clicked joints are all at one place of the picture; click each joint where it is seen")


def _check_not_collinear(*points: Floats) -> None:
    """Raise PosingError for points, (N, 2) or (N, 3), on one line."""
    if any(_compute_flatness(each) < MIN_FLATNESS for each in points):
        raise PosingError(
            "the clicked joints are on one line, which tells no camera; click joints beside it, such as hands and feet"
        )


def _compute_extent(points: Floats) -> float:
    """Return the largest standard deviation of points, (N, D), in any direction."""
    return float(np.linalg.svd(points - points.mean(axis=0), compute_uv=False)[0] / np.sqrt(len(points)))


def _compute_flatness(points: Floats) -> float:
    """Return the second to the first extent of points, (N, D): 0 on a line."""
    extents = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    return float(extents[1] / max(float(extents[0]), 1e-12))


@dataclass(frozen=True, slots=True)
class _Search:
    """The minimum over x: rotation vector and translation, world to camera, and log f where the lens is not known, (6,) or (7,).

    Attributes:
        image_px: clicks, (N, 2).
        points_m: joints, (N, 3).
        lens: its lens is used where it is known.
    """

    image_px: Floats
    points_m: Floats
    lens: Camera
    known_lens: bool

    def best(self) -> tuple[Floats, Floats]:
        """Return the minimum and the residuals' derivatives there."""
        best = self.refined([*self.by_perspective(), *self._around()])
        return np.asarray(best.x), np.asarray(best.jac)

    def first(self) -> float:
        """Return the least sum of squares at the starts by perspective, infinite without any."""
        return min((float((self.residuals(start) ** 2).sum()) for start in self.by_perspective()), default=np.inf)

    def refined(self, starts: Iterable[Floats]) -> OptimizeResult:
        """Return the least minimum from some starts."""
        found = (least_squares(self.residuals, start, method="lm", max_nfev=400) for start in starts)
        return min(found, key=lambda each: float(each.cost))

    def camera(self, x: Floats) -> Camera:
        """Return the camera of the unknowns."""
        lens = self.lens if self.known_lens else self._plain(float(np.exp(np.clip(x[6], 0.0, 15.0))))
        return replace(lens, name="solved", rotation=np.asarray(matrix_from_rotvec(x[:3])), translation=np.array(x[3:6]))

    def residuals(self, x: Floats) -> Floats:
        """Return the residuals, (2 N + 2,) or (2 N + 3,)."""
        camera = self.camera(x)
        off = (camera.project(self.points_m) - self.image_px) / (CLICK * max(camera.size))
        ahead = camera.to_camera(self.points_m)[:, 2]
        off[ahead < MIN_DEPTH_M] = BEHIND * (1.0 + MIN_DEPTH_M - ahead[ahead < MIN_DEPTH_M, None])
        roll = np.arcsin(np.clip(camera.rotation[0, 1], -1.0, 1.0)) / ROLL_RAD
        usual = [roll, (camera.center_m[1] - USUAL_HEIGHT_M) / HEIGHT_M]
        if not self.known_lens:
            usual.append(np.log(camera.matrix[0, 0] / self._focal_px(USUAL_FOV_DEG)) / FOCAL_SIGMA)
        return np.concatenate([off.ravel(), usual])

    def _plain(self, focal_px: float) -> Camera:
        """Return a camera without distortion and without a place."""
        width, height = self.lens.size
        K = np.array([[focal_px, 0.0, 0.5 * (width - 1)], [0.0, focal_px, 0.5 * (height - 1)], [0.0, 0.0, 1.0]])
        return Camera("solved", self.lens.size, K, np.zeros(5), np.eye(3), np.zeros(3))

    def _focal_px(self, angle_deg: float) -> float:
        """Return the focal length of a horizontal field of view [px]."""
        return float(intrinsics_from_fov(self.lens.size, angle_deg)[0, 0])

    def _lenses(self) -> list[Camera]:
        """Return the lenses that the search begins with."""
        return [self.lens] if self.known_lens else [self._plain(self._focal_px(angle)) for angle in FOVS_DEG]

    def by_perspective(self) -> Iterator[Floats]:
        """Return where perspective from points begins, for each lens."""
        for lens in self._lenses():
            ideal, points_m = lens.undistort(self.image_px), np.ascontiguousarray(self.points_m)
            solved, rvec, tvec = cv2.solvePnP(points_m, ideal, np.eye(3), None, flags=cv2.SOLVEPNP_SQPNP)
            if solved and np.isfinite(rvec).all() and np.isfinite(tvec).all():
                yield self._unknowns(rvec.ravel(), tvec.ravel(), lens)

    def _around(self) -> Iterator[Floats]:
        """Return views from all around."""
        middle = self._lenses()[len(self._lenses()) // 2]
        target_m = self.points_m.mean(axis=0)
        distance_m = max(middle.focal_px * _compute_extent(self.points_m) / _compute_extent(self.image_px), 1.0)
        for angle in AROUND_RAD:
            position_m = target_m + distance_m * np.array([np.sin(angle), 0.1, np.cos(angle)])
            view = make_camera_looking_at("start", middle.size, middle.matrix, position_m, target_m)
            yield self._unknowns(rotvec_from_matrix(view.rotation), view.translation, middle)

    def _unknowns(self, rotvec: Floats, translation: Floats, lens: Camera) -> Floats:
        """Return the unknowns of a camera."""
        return np.concatenate([rotvec, translation, [] if self.known_lens else [np.log(lens.focal_px)]])
