"""What is tuned reaches the detector and the device, what cannot be done is said, and what is in force is told."""

from capture.detection.detector import Detector
from capture.process.tuning import Tuner
from config.errors import SourceError
from config.settings import DetectorSettings
from tests.support.fakes import Corner, CountingSource


class Device(CountingSource):
    """A camera with an exposure that keeps to steps of ten."""

    def __init__(self) -> None:
        super().__init__(0)
        self.asked: list[dict[str, object]] = []

    def adjust(self, settings: dict[str, object]) -> list[str]:
        if "focus" in settings:
            raise SourceError("it has no focus")
        self.asked.append(settings)
        self.facts["exposure"] = 10.0
        return ["sets exposure to 10 instead of 12"]


class Learner(Detector):
    """Counts how often it was told to learn, and to adjust."""

    n_learned = n_adjusted = 0

    def relearn(self) -> None:
        self.n_learned += 1

    def adjust(self, settings: DetectorSettings) -> None:
        self.n_adjusted += 1
        super().adjust(settings)


def test_settings_reach_the_detector_and_are_told() -> None:
    detector = Learner(DetectorSettings())
    tuner = Tuner(CountingSource(0), detector)
    before = detector.n_adjusted
    assert tuner.take({"detector.k_sigma": 5.0, "min_area_px": 2, "relearn": 1}) == []
    assert (detector.settings.k_sigma, detector.settings.min_area_px, detector.n_learned) == (5.0, 2.0, 1)
    told = tuner.details()
    assert told["tuning.detector.k_sigma"] == 5.0 and told["tuning.detector.mode"] == "auto"
    assert detector.n_adjusted == before + 1
    tuner.take({"detector.k_sigma": 5.0})
    assert detector.n_adjusted == before + 1  # the same again does not make a detector begin anew


def test_a_device_is_asked_and_what_it_did_otherwise_is_said() -> None:
    device = Device()
    tuner = Tuner(device, Learner(DetectorSettings()))
    assert tuner.take({"camera.exposure": "12", "detector.min_difference": 20}) == ["sets exposure to 10 instead of 12"]
    assert device.asked == [{"exposure": "12"}]
    assert tuner.details()["tuning.camera.exposure"] == "12" and tuner.details()["tuning.detector.min_difference"] == 20.0
    assert tuner.take({"camera.focus": "3"}) == ["it has no focus"]
    assert "tuning.camera.focus" not in tuner.details()


def test_what_cannot_be_is_said_and_nothing_breaks() -> None:
    tuner = Tuner(CountingSource(0), Corner())
    assert tuner.details() == {}
    assert tuner.take({"detector.k_sigma": 5.0}) == ["its detector has no settings"]
    assert tuner.take({"camera.gain": "3"}) == ["it is no camera whose settings can be changed"]
    assert tuner.take({"relearn": 1}) == ["there is no background to be learned here"]
    (words,) = tuner.take({"detector.k_sigm": 5.0})
    assert "unknown setting" in words
    detector = Learner(DetectorSettings())
    (words,) = Tuner(CountingSource(0), detector).take({"detector.k_sigma": 1e9, "detector.min_area_px": 5.0})
    assert "must be within" in words and detector.settings == DetectorSettings()
