"""Measures of scores in a Kafka topic; offsets are kept with the counts: nothing counts twice.

    python docs/examples/kafka_consumer.py

needs what ``pip install . confluent-kafka`` installs, and brings a broker of its own.
"""

import json
import os
import tempfile
from pathlib import Path

import numpy as np
from confluent_kafka import Consumer, Producer, TopicPartition

import fastad
from fastad.streaming import SlidingEvaluation

TOPIC = "scores"


class Counted:
    """A window, and the offset of the next message of each partition, in one file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.window = SlidingEvaluation(pane="1h", window="7d")
        self.offsets: dict[int, int] = {}
        if file.exists():
            head, _, content = file.read_bytes().partition(b"\n")
            self.offsets = {int(partition): at for partition, at in json.loads(head).items()}
            self.window = SlidingEvaluation.from_bytes(content)

    def count(self, messages: list) -> None:
        """Count messages; those of one group at once, as a call costs more than a point."""
        batches: dict[str, list] = {}
        for message in messages:
            if message.error():
                raise RuntimeError(message.error())
            # A rebalance or a restart may send some again.
            if message.offset() >= self.offsets.get(message.partition(), 0):
                self.offsets[message.partition()] = message.offset() + 1
                batches.setdefault(message.key().decode(), []).append(json.loads(message.value()))
        for group, rows in batches.items():
            columns = {name: [row[name] for row in rows] for name in ("label", "score", "time")}
            scores = np.array(columns["score"], np.float64)
            self.window.update(columns["label"], scores, time=columns["time"], group=group)

    def save(self) -> None:
        """Write counts and offsets together: a crash loses both or neither."""
        aside = self._file.with_suffix(".new")
        with aside.open("wb") as file:
            file.write(json.dumps(self.offsets).encode() + b"\n" + self.window.to_bytes())
            file.flush()
            os.fsync(file.fileno())
        aside.replace(self._file)


def consume(servers: str, file: Path, n_messages: int, *, save: bool = True) -> Counted:
    """Count so many messages from where the file ends; save after each batch."""
    counted = Counted(file)
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "fastad",
            "auto.offset.reset": "earliest",
            # The offsets that matter are those beside the counts.
            "enable.auto.commit": False,
        }
    )

    def assign(consumer: Consumer, partitions: list[TopicPartition]) -> None:
        for each in partitions:
            each.offset = counted.offsets.get(each.partition, each.offset)
        consumer.assign(partitions)

    consumer.subscribe([TOPIC], on_assign=assign)
    while n_messages > 0:
        messages = consumer.consume(min(n_messages, 500), timeout=1)
        counted.count(messages)
        n_messages -= len(messages)
        if messages and save:
            counted.save()
            # For tools that show the lag.
            offsets = [TopicPartition(TOPIC, *each) for each in counted.offsets.items()]
            consumer.commit(offsets=offsets, asynchronous=False)
    consumer.close()
    return counted


def main() -> None:
    """Send made-up scores, count them with a crash on the way, and compare."""
    # A broker inside this process: one of librdkafka's test helpers.
    producer = Producer({"bootstrap.servers": "", "test.mock.num.brokers": 1})
    servers = ",".join(f"{b.host}:{b.port}" for b in producer.list_topics().brokers.values())
    rng = np.random.default_rng(0)
    labels = rng.random(3000) < 0.1
    scores = rng.normal(size=3000) + 2 * labels
    for i, (label, score) in enumerate(zip(labels.tolist(), scores.tolist(), strict=True)):
        value = json.dumps({"time": i, "label": int(label), "score": score})
        producer.produce(TOPIC, value, key=f"tenant-{i % 3}")
    producer.flush()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "counted")
        consume(servers, file, 1000)
        # These are counted, but lost with the process before they are saved.
        consume(servers, file, 700, save=False)
        result = consume(servers, file, 2000).window.evaluate(["auc"])
    print(result)
    exact = fastad.roc_auc(labels, scores)
    print("same:", result["auc"].value == exact)


if __name__ == "__main__":
    main()
