"""What a search is asked frame after frame: the queries an estimator that makes no errors would put, markers 5 mm off."""

import numpy as np

from config.joints import N_JOINTS
from config.settings import SolveSettings
from database.rotations import matrix_from_rotvec
from reconstruct.history import History, Moment
from reconstruct.nearest import Query
from tools.evaluation.queries import FPS
from tools.evaluation.queries import Query as Motion


def search_queries(motion: Motion, settings: SolveSettings) -> list[Query]:
    """Give the queries of a motion's frames from the third on (Chai & Hodgins 2005, eq. 2), weighted as the estimator does.

    The root and the last poses are the true ones.
    """
    n, history = len(motion), History()
    R = matrix_from_rotvec(motion.rotvec[:, 0])
    local_m = np.einsum("nmi,nij->nmj", motion.marker_m - motion.root_m[:, None], R)
    weight = np.where(motion.visible, 1.0 / (motion.sigma_m**2 + settings.query_marker_sigma_m**2), 0.0)
    pose_weight = np.full(3 * (N_JOINTS - 1), settings.query_pose_sigma_rad**-2.0)
    queries = []
    for k in range(n):
        t_ns = round(k * 1e9 / FPS)
        predicted = history.predict(t_ns, settings.velocity_gain)
        if k >= 2 and predicted is not None:
            queries.append(Query(local_m[k], weight[k], predicted.joints[1:].ravel(), pose_weight))
        moment = Moment(t_ns, motion.rotvec[k].copy(), R[k], motion.root_m[k].copy())
        history = history.then(moment, settings.velocity_share)
    return queries
