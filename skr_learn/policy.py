"""Policy: what to do with a question at each place, by what is seen there; the one saved object."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import numpy as np
from numpy.typing import NDArray

from skr_core.answering import answer_directly
from skr_core.candidates import CandidateAnswer
from skr_core.errors import InputError
from skr_core.flow import Flow, arun, call, run
from skr_core.models.adapting import AnyModel, as_language_model
from skr_core.prompts.asking import checked_question
from skr_core.rivals import candidate_of_generation
from skr_core.routers.constant import constant_router
from skr_core.routers.saving import SavedRouter, embedder_stamp
from skr_core.types import ACTIONS, Action, Decision, Generation, Stamp, Verdict
from skr_learn.costs import ActionTable
from skr_learn.estimator import part_of
from skr_learn.expected import Expected, novelty
from skr_learn.features.answers import agree
from skr_learn.features.views import STATED, Seen, Views, texts_of
from skr_learn.records import Record, check_same_stamp, in_fixed_order
from skr_learn.reflector import LearnedReflector
from skr_learn.routers.base import question_hashes
from skr_learn.stages import Looks, Outlook, Serves, Stage, likeliest

if TYPE_CHECKING:
    from skr_core.ports import Embedder, LanguageModel, Retriever, Router

NAMES: dict[Action, str] = {
    "direct": "the answer from memory",
    "single": "the answer after one search",
    "loop": "the answer after the whole search",
}


@dataclass(frozen=True)
class Rules:
    """What a policy does, beside what it has learnt.

    Attributes:
        actions: The actions that it chooses among, from the cheapest to the dearest.
        costs: The mean cost of ending with each, in `unit`.
        looks: What is looked at before the next answer is asked for.
        serves: Whether the likeliest of the answers at hand is served, or the last.
        weight: The score that a unit of cost is worth, from 0.
        unit: What cost is counted in.
        by: The field of the records that makes groups; empty without.
        groups: The action that is taken for all questions of a group, by the group's value.

    Raises:
        InputError: Something is not what it should be.
    """

    actions: tuple[Action, ...]
    costs: tuple[float, ...]
    looks: Looks = "answers"
    serves: Serves = "likeliest"
    weight: float = 0.0
    unit: str = "retrievals"
    by: str = ""
    groups: Mapping[str, Action] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if self.looks not in get_args(Looks) or self.serves not in get_args(Serves):
            raise InputError(f"no policy looks at {self.looks!r} and serves {self.serves!r}")
        if not 0 <= self.weight < np.inf:
            raise InputError(f"a weight of cost is a number from 0, not {self.weight}")
        if self.actions != tuple(each for each in ACTIONS if each in self.actions):
            raise InputError(f"a policy chooses among {', '.join(ACTIONS)}, in this order")
        if len(self.actions) < 2 or self.actions[0] != "direct":
            raise InputError("a policy chooses between the direct answer and others")
        if len(self.actions) != len(self.costs) or not np.isfinite(self.costs).all():
            raise InputError("a policy knows the cost of each of its actions")
        for value, action in self.groups.items():
            if action not in self.actions:
                raise InputError(f"the group {value!r} takes {action!r}, which is no action here")

    @property
    def has_stages(self) -> bool:
        """Whether answers are looked at one after the other."""
        return self.looks != "question"


class Policy:
    """Decides after each answer whether to ask for the next, and serves the last of them.

    The estimate is the same everywhere, "is this answer right?", with more to see each time: a
    router before retrieval (`decide_on`), and again within the loop, when the first round has
    answered (`decide_after`). `WeighingPolicy` is an arbiter too. `calibrate` makes one of records;
    give it as the ``router`` of a system.

    Args:
        rules: What it does.
        stages: What it has learnt.
        embedder: The embedder of questions and answers; None without one.
        stamp: The system whose records it was made of.
        questions: Short hashes of the questions that it has learnt from.
        reflector: What says within the loop whether a draft suffices; None where that was not
            learnt. Give it as the ``reflector`` of a system.
        model: The model that gives direct answers, where it is used alone.
        stated: What the records state of each action's answer beside its text, see
            `skr_learn.features.stated_in`: nothing else is looked at. By default everything is.
        expected: What it is expected to do with questions like those of its records; None where
            that is not known.
    """

    kind: ClassVar[str] = "policy"

    def __init__(
        self,
        rules: Rules,
        stages: Sequence[Stage],
        *,
        embedder: Embedder | None = None,
        stamp: Stamp = Stamp(),
        questions: Sequence[str] = (),
        reflector: LearnedReflector | None = None,
        model: AnyModel | None = None,
        stated: Sequence[Sequence[str]] | None = None,
        expected: Expected | None = None,
    ) -> None:
        self.expected = expected
        self.stated = tuple(map(tuple, stated or [STATED] * len(rules.actions)))
        self.reflector = reflector
        self.rules, self.stages = rules, tuple(stages)
        self.embedder, self.stamp, self.questions = embedder, stamp, tuple(questions)
        self.model = None if model is None else as_language_model(model)

    @classmethod
    def of(cls, rules: Rules, stages: Sequence[Stage], **parts: Any) -> Policy:
        """Make the policy that the rules ask for: one that weighs answers, or one that does not."""
        weighs = rules.serves == "likeliest" and rules.has_stages
        return (WeighingPolicy if weighs else Policy)(rules, stages, **parts)

    @property
    def actions(self) -> tuple[Action, ...]:
        """The actions that it chooses among, from the cheapest to the dearest."""
        return self.rules.actions

    @property
    def drafts(self) -> bool:
        """Whether it looks at the direct answer before it decides."""
        return self.rules.looks in ("answers", "search")

    @property
    def searches(self) -> bool:
        """Whether it looks at what the first search found, before anything is read."""
        return self.rules.looks == "search"

    def with_rules(self, **changes: Any) -> Policy:
        """Return the same with other rules, such as another ``weight``."""
        expected = self.expected and replace(self.expected, shares={}, chance=None)
        return Policy.of(
            replace(self.rules, **changes),
            self.stages,
            embedder=self.embedder,
            stamp=self.stamp,
            questions=self.questions,
            reflector=self.reflector,
            model=self.model,
            stated=self.stated,
            expected=expected,
        )

    @property
    def words(self) -> Container[str]:
        """The words that it has learnt of questions, among others."""
        gains = self.stages[0].gains
        assert gains is not None
        return gains.words

    def for_group(self, value: object) -> Router:
        """Return the router of a group of questions: itself, or a constant where it lost there.

        Args:
            value: The group's value of the field that ``calibrate(by=...)`` was given.
        """
        action = self.rules.groups.get(str(value))
        return self if action is None else constant_router(action)

    def update(self, records: Sequence[Record]) -> None:
        """Learn anew from records, with the same rules; nothing is changed on the disk.

        A policy keeps none of its records, so that the earlier ones are given with the new.

        Args:
            records: All records that it is to rest on, made with the same system.

        Raises:
            InputError: Questions are missing that it has learnt from.
            StampMismatch: The records were made with something else.
        """
        from skr_learn.training import Training

        if missing := set(self.questions) - set(question_hashes(records)):
            raise InputError(
                f"{len(missing)} of the {len(self.questions)} questions that this policy has "
                "learnt from are missing: give the earlier records with the new ones"
            )
        check_same_stamp([self.stamp, *(record.stamp for record in records)], "the records")
        ordered = in_fixed_order(records)
        table = ActionTable.of(ordered, actions=self.actions, unit="calls")
        training = Training(ordered, table, self.embedder)
        self.stages, outlook = training.stages(self.rules.looks, self.rules.serves)
        self.questions, self.stated = training.parts["questions"], training.parts["stated"]
        taken, answers = self.taken(ordered, outlook)
        chances = outlook.served_chances(taken, answers)
        asked = [record.question for record in ordered]
        self.expected = Expected.of(asked, self.words, self.actions, taken, chances)

    def decide(self, question: str) -> Decision:
        """Decide by what it looks at; a policy that looks at answers asks its model for the direct.

        Raises:
            InputError: The question is empty, or there is no model to ask.
            ModelError: The model failed.
        """
        return run(self._decision(checked_question(question)))

    async def adecide(self, question: str) -> Decision:
        """Async version of `decide`."""
        return await arun(self._decision(checked_question(question)))

    def decide_on(self, question: str, direct: Generation) -> Decision:
        """Decide whether to retrieve when the direct answer is there already."""
        return run(self._decision_on(checked_question(question), direct))

    async def adecide_on(self, question: str, direct: Generation) -> Decision:
        """Async version of `decide_on`."""
        return await arun(self._decision_on(checked_question(question), direct))

    def decide_after(self, question: str, answers: Mapping[Action, CandidateAnswer]) -> Decision:
        """Decide whether to go on from the answers that are there.

        Args:
            question: The question, as it can be understood alone.
            answers: The answers of the first of `actions`, up to the one that was reached.

        Returns:
            The action to take after all: the one that was reached where it ends there.

        Raises:
            InputError: The direct answer is missing.
        """
        return run(self._step(question, answers))

    async def adecide_after(
        self, question: str, answers: Mapping[Action, CandidateAnswer]
    ) -> Decision:
        """Async version of `decide_after`."""
        return await arun(self._step(question, answers))

    def replayed(
        self, records: Sequence[Record], views: Views | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return what it would do with records, whose answers are all there.

        Args:
            records: n records.
            views: What they show of what it looks at, where that has been measured.

        Returns:
            The index of the dearest action that is taken, and of the one whose answer is served,
            shape (n,) each.
        """
        return self.taken(records, self.outlook(records, views))

    def taken(
        self, records: Sequence[Record], outlook: Outlook
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return what `replayed` does, by what `outlook` has returned."""
        if self.rules.looks == "nothing":
            ends = np.full(len(records), len(self.actions) - 1)
        else:
            ends = outlook.ends(self.rules.weight)
        served = outlook.served(ends, self.rules.serves)
        for row, record in enumerate(records if self.rules.groups else ()):
            action = self.rules.groups.get(str(record.value(self.rules.by)))
            if action is not None:
                ends[row] = served[row] = self.actions.index(action)
        return ends, served

    def outlook(self, records: Sequence[Record], views: Views | None = None) -> Outlook:
        """Return what it expects of records, whose answers are all there; see `replayed`."""
        costs = np.array(self.rules.costs)
        alone = self.rules.looks == "question"
        if views is None:
            views = self._views(
                [
                    Seen(record.question) if alone else record.seen(self.actions).only(self.stated)
                    for record in records
                ]
            )
        if alone:
            gains = self.stages[0].gains
            assert gains is not None
            return Outlook([gains.predict(views.whole(0))], [], costs, answers=0)
        counts = range(1, len(self.actions) + 1)
        chances = [
            stage.chances_of(views, count) for stage, count in zip(self.stages, counts, strict=True)
        ]
        gains_of = [
            stage.gains.predict(views.whole(count))
            for stage, count in zip(self.stages, counts, strict=True)
            if stage.gains is not None
        ]
        return Outlook(gains_of, chances, costs, stand_ins=[*map(views.stand_ins, counts)])

    def save(self, path: str | Path) -> None:
        """Write the policy to a file, without its model; an earlier one there is replaced whole.

        Raises:
            InputError: The file cannot be written.
        """
        rules = self.rules
        parameters = {
            **{name: getattr(rules, name) for name in Rules.__annotations__},
            "actions": list(rules.actions),
            "costs": list(rules.costs),
            "groups": dict(rules.groups),
            "stages": [stage.parameters() for stage in self.stages],
            "stated": [list(each) for each in self.stated],
            "expected": self.expected and asdict(self.expected),
        }
        arrays = {
            f"stage{place}.{name}": array
            for place, stage in enumerate(self.stages)
            for name, array in stage.arrays().items()
        }
        if self.reflector is not None:
            learnt, own = self.reflector.state()
            parameters["reflector"] = learnt
            arrays |= {f"reflector.{name}": array for name, array in own.items()}
        embedder = {} if self.embedder is None else embedder_stamp(self.embedder)
        SavedRouter(self.kind, parameters, arrays, self.stamp, embedder, self.questions).write(path)

    @classmethod
    def load(
        cls,
        path: str | Path | SavedRouter,
        *,
        model: LanguageModel | None = None,
        retriever: Retriever | None = None,
        embedder: Embedder | None = None,
        force: bool = False,
    ) -> Policy:
        """Read a policy that `save` wrote; arguments and errors are those of `load_router`."""
        saved = SavedRouter.read(path, cls.kind)
        made_with = saved.embedder_beside(model, retriever, embedder, force=force)
        with saved.unpacking():
            given = saved.parameters
            rules = _rules_of(given)
            count = len(rules.actions) if rules.has_stages else 1
            if len(given["stages"]) != count:
                raise ValueError("there are not as many stages as actions")
            stages = [
                Stage.from_arrays(given["stages"][place], part_of(saved.arrays, f"stage{place}"))
                for place in range(count)
            ]
            for place, stage in enumerate(stages):
                answers = place + 1 if rules.has_stages else 0
                further = len(rules.actions) - max(1, answers)
                stage.try_out(answers, further, searched=rules.looks == "search")
            reflects = given.get("reflector") is not None
            told = given.get("expected")
            return Policy.of(
                rules,
                stages,
                embedder=made_with,
                stamp=saved.stamp,
                questions=saved.questions,
                reflector=LearnedReflector.of_saved(saved, made_with) if reflects else None,
                model=model,
                stated=given["stated"],
                expected=None if told is None else Expected.of_plain(told),
            )

    def _decision(self, question: str) -> Flow[Decision]:
        if self.rules.looks == "nothing":
            every = Decision(True, _rounds_of(self.actions[-1]), reason="every answer is asked for")
            return self._beside_records(question, every)
        if self.rules.looks == "question":
            return (yield from self._step(question, {}))
        if self.model is None:
            raise InputError("this policy looks at the direct answer: give model=")
        direct = yield from answer_directly(self.model, question)
        return (yield from self._decision_on(question, direct))

    def _decision_on(self, question: str, direct: Generation) -> Flow[Decision]:
        said = candidate_of_generation(direct)
        decision = yield from self._step(question, {"direct": said})
        return replace(decision, usage=direct.usage, draft=direct.text)

    def _step(self, question: str, answers: Mapping[Action, CandidateAnswer]) -> Flow[Decision]:
        """Decide whether to go on from the answers that are there."""
        decision = yield from self._further(question, answers)
        return self._beside_records(question, decision)

    def _beside_records(self, question: str, decision: Decision) -> Decision:
        """Say how unlike the records the question is."""
        if self.expected is None:
            return decision
        unlike = novelty(question, self.words)
        return replace(decision, novelty=unlike, novel=unlike > self.expected.threshold)

    def _further(self, question: str, answers: Mapping[Action, CandidateAnswer]) -> Flow[Decision]:
        seen = self._seen(question, answers)
        count = len(seen.answers)
        last = self.actions[-1]
        if self.rules.looks == "nothing" or (count and not self.drafts):
            return Decision(True, _rounds_of(last), reason="it was decided before")
        if self.searches and seen.answers[0].confirmation is None:
            return Decision(
                True, _rounds_of(last), reason="it is decided by what a first search finds"
            )
        views = yield from self._viewed(seen)
        chances, _, served = self._chances(views, count)
        chance = float(chances[served]) if count else None
        if count == len(self.actions):
            reason = f"{NAMES[last]} is the last"
            return Decision(True, _rounds_of(last), reason=reason, chance=chance)
        place = max(0, count - 1)
        gains = self.stages[place].gains
        assert gains is not None
        costs = np.array(self.rules.costs)[place:]
        expected = gains.predict(views.whole(count))
        worth = expected - self.rules.weight * (costs[1:] - costs[0])
        best = int(np.argmax(worth[0]))
        gain = float(expected[0, best])
        toll = self.rules.weight * float(costs[1 + best] - costs[0])
        goes = bool(worth[0, best] > 0)
        # From the question alone the way leads straight to an action, else from stage to stage.
        further = last if count else self.actions[1 + best]
        taken = further if goes else self.actions[place]
        names = [NAMES[each] for each in self.actions[:count]] or ["the question"]
        looked_at = " and ".join([*names, "what was found"] if self.searches else names)
        return Decision(
            retrieve=taken != "direct",
            max_rounds=_rounds_of(taken),
            score=float(np.clip(gain, -1.0, 1.0)),
            threshold=toll,
            reason=(
                f"judging by {looked_at}, searching on changes the chance of a right answer by "
                f"{100 * gain:+.0f} points, and is done above {100 * toll:+.0f}"
            ),
            chance=chance,
        )

    def _chances(self, views: Views, count: int) -> tuple[NDArray[np.float64], int, int]:
        """The chances of the answers of one question, the likeliest, and which is served of them.

        Args:
            views: What the question shows.
            count: How many answers there are.
        """
        if not count:
            return np.zeros(0), 0, 0
        chances = self.stages[count - 1].chances_of(views, count)
        best = int(likeliest(chances)[0])
        weighs = self.rules.serves == "likeliest"
        served = int(views.stand_ins(count)[0, best]) if weighs else count - 1
        return chances[0], best, served

    def _seen(self, question: str, answers: Mapping[Action, CandidateAnswer]) -> Seen:
        """Take the answers up to the first that is missing."""
        reached: list[CandidateAnswer] = []
        for action in self.actions:
            if action not in answers:
                break
            reached.append(answers[action])
        if not reached and self.drafts:
            raise InputError(f"an answer is missing: {self.actions[0]}")
        return Seen(question, tuple(reached)).only(self.stated)

    def _viewed(self, seen: Seen) -> Flow[Views]:
        if self.embedder is None:
            return Views([seen], searched=self.searches)
        vectors = yield from call(self.embedder.embed, self.embedder.aembed, texts_of([seen]))
        return Views([seen], vectors, searched=self.searches)

    def _views(self, seen: Sequence[Seen]) -> Views:
        if self.embedder is None:
            return Views(seen, searched=self.searches)
        return Views(seen, self.embedder.embed(texts_of(seen)), searched=self.searches)


class WeighingPolicy(Policy):
    """A policy that is an arbiter too: it serves the likeliest of the answers at hand.

    In W2R's words it undoes "corruption", in SKR's it keeps the answers that retrieval "hurts". An
    answer cannot be streamed before it is weighed.
    """

    def judge(self, question: str, answers: Mapping[Action, CandidateAnswer]) -> Verdict:
        """Choose the answer to serve.

        Args:
            question: The question, as it can be understood alone.
            answers: The answers of the first of `actions`, up to the one that was reached.

        Raises:
            InputError: The direct answer is missing.
        """
        return run(self._verdict(question, answers))

    async def ajudge(self, question: str, answers: Mapping[Action, CandidateAnswer]) -> Verdict:
        """Async version of `judge`."""
        return await arun(self._verdict(question, answers))

    def _verdict(self, question: str, answers: Mapping[Action, CandidateAnswer]) -> Flow[Verdict]:
        seen = self._seen(question, answers)
        if not seen.answers:
            raise InputError(f"an answer is missing: {self.actions[0]}")
        views = yield from self._viewed(seen)
        count = len(seen.answers)
        return _verdict_of(seen.answers, self.actions[:count], *self._chances(views, count))


def _rules_of(given: Mapping[str, Any]) -> Rules:
    """Read the rules of a file; whatever is wrong with them is a ValueError."""
    plain = {name: given[name] for name in ("looks", "serves", "unit", "by")}
    try:
        return Rules(
            tuple(given["actions"]),
            tuple(map(float, given["costs"])),
            weight=float(given["weight"]),
            groups=dict(given["groups"]),
            **plain,
        )
    except InputError as error:
        raise ValueError(str(error)) from error


def _verdict_of(
    answers: Sequence[CandidateAnswer],
    actions: Sequence[Action],
    chances: NDArray[np.float64],
    best: int,
    served: int,
) -> Verdict:
    by_action = dict(zip(actions, map(float, chances), strict=True))
    if len(answers) == 1:
        reason = "it is the only answer"
    elif all(agree(each.text, answers[best].text) for each in answers):
        reason = "all answers agree"
    else:
        others = ", ".join(f"{NAMES[action]} {chance:.0%}" for action, chance in by_action.items())
        why = "is the likeliest to be right"
        if served != best:
            why = (
                f"rests on what was found and says the same as {NAMES[actions[best]]}, which {why}"
            )
        reason = f"{NAMES[actions[served]]} {why}: {others}"
    return Verdict(actions[served], by_action, reason)


def _rounds_of(action: Action) -> int | None:
    """Return how many rounds of retrieval an action takes; None is what the budget says."""
    return 1 if action == "single" else None
