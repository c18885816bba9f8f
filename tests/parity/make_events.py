"""Writes events.tfevents: a few events as TensorBoard's own writer frames and encodes them.

    pip install tensorboard
    python tests/parity/make_events.py
"""
import pathlib

from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.summary.writer.record_writer import RecordWriter


def scalars(wall_time, step, values):
    summary = summary_pb2.Summary()
    for tag, value in values:
        summary.value.add(tag=tag, simple_value=value)
    return event_pb2.Event(wall_time=wall_time, step=step, summary=summary)


EVENTS = [
    event_pb2.Event(wall_time=1700000000.25, file_version="brain.Event:2"),
    event_pb2.Event(
        wall_time=1700000001.5,
        step=301,
        session_log=event_pb2.SessionLog(status=event_pb2.SessionLog.START),
    ),
    scalars(1700000002.75, 301, [("train/loss", 3.25), ("train/lr", 1e-3), ("train/skipped", 0.0)]),
    scalars(1700000003.0, 1 << 40, [("val/loss", -0.1)]),
    scalars(1700000004.0, 302, [("x" * 200, float("inf"))]),
]

path = pathlib.Path(__file__).with_name("events.tfevents")
with open(path, "wb") as file:
    writer = RecordWriter(file)
    for event in EVENTS:
        writer.write(event.SerializeToString(deterministic=True))
    writer.flush()
