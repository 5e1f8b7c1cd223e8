"""What a step asks, as data: words, fields, buttons. The page draws it, and gives back what was pressed, with the values."""

from dataclasses import dataclass
from enum import StrEnum

import viser

Value = str | float | bool


@dataclass(frozen=True, slots=True)
class FormField:
    """One thing that is asked.

    Attributes:
        key: by which the value is found.
        value: at first: a text, a number (float) or whether (bool).
        options: to choose from; empty: whatever is typed.
        hint: shown where the mouse rests.
    """

    key: str
    label: str
    value: Value
    options: tuple[str, ...] = ()
    hint: str = ""


@dataclass(frozen=True, slots=True)
class FormButton:
    """One thing that can be done. main: the usual next one."""

    key: str
    label: str
    icon: viser.IconName
    main: bool = False
    hint: str = ""


@dataclass(frozen=True, slots=True)
class StepForm:
    """A step as it stands.

    Attributes:
        words: what to do, in a sentence or two.
        error: what happened, what was expected, what to do next; empty where all is well.
        done: what came of the last thing that was done.
    """

    title: str
    words: str
    fields: tuple[FormField, ...] = ()
    buttons: tuple[FormButton, ...] = ()
    error: str = ""
    done: str = ""


class StepState(StrEnum):
    """How far a step is."""

    DONE = "done"
    READY = "ready"
    WAITING = "waiting"  # for an earlier one


@dataclass(frozen=True, slots=True)
class StepRow:
    """A step in the list. result: in a few words, or what it waits for."""

    key: str
    title: str
    state: StepState
    result: str


@dataclass(frozen=True, slots=True)
class Pressed:
    """A button that was pressed, or a step that was chosen (`step` alone), with the values of the fields at that time."""

    step: str
    button: str
    values: dict[str, Value]
