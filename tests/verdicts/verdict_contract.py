"""What every store of verdicts keeps, whatever is behind it. A subclass gives `verdicts`."""

import time
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import msgspec
import pytest

from shared.errors import NotFound
from shared.verdicts import RETENTION_DAYS, Judged, KeptAnswer, Verdict, VerdictStore, answer_id_of, new_turn_id

UP = Verdict("up", "2026-11-25T08:00:00.000Z")
DOWN = Verdict("down", "2026-11-25T08:00:01.000Z", "Wrong year 👩‍👩‍👧", "x" * 4_000)


def new_owner() -> str:
    return f"user:{uuid4()}"


def answered(chat: str = "") -> KeptAnswer:
    """The record of an answer, as long as one can be."""
    answer_id = answer_id_of(new_turn_id())
    return KeptAnswer(answer_id, "q" * 4_000, "𝔘" * 8_000, chat, ("a.md",) * 50, ("𝔘" * 500,) * 20, alone=False)


class VerdictContract:
    async def judged(self, verdicts: VerdictStore, answers: list[KeptAnswer]) -> list[Judged]:
        """What the store lists of some answers, as all pages of two have it."""
        listed, after = list[Judged](), None
        while page := await verdicts.page(2, after):
            listed += page
            after = page[-1].answer.id
        ids = {answer.id for answer in answers}
        return [one for one in listed if one.answer.id in ids]

    async def test_a_verdict_is_kept_with_its_answer_and_a_second_one_replaces_it(self, verdicts: VerdictStore) -> None:
        owner, answer = new_owner(), answered("chat")
        await verdicts.add(owner, answer)
        assert await self.judged(verdicts, [answer]) == []
        assert await verdicts.judge(owner, answer.id, UP) is True
        assert await verdicts.judge(owner, answer.id, DOWN) is False
        assert await self.judged(verdicts, [answer]) == [Judged(answer, DOWN)]

    async def test_all_of_an_owner_is_read_and_forgotten_and_others_keep_theirs(self, verdicts: VerdictStore) -> None:
        owner, other = new_owner(), new_owner()
        mine, theirs = [answered("chat"), answered(), answered("chat"), answered()], answered("chat")
        for answer in mine:
            await verdicts.add(owner, answer)
        await verdicts.add(other, theirs)
        for answer in mine[:2]:
            await verdicts.judge(owner, answer.id, UP)
        await verdicts.judge(other, theirs.id, DOWN)
        found = {answer.id: (answer, verdict) for answer, verdict in await verdicts.answers_of(owner)}
        assert found == {answer.id: (answer, UP if answer in mine[:2] else None) for answer in mine}
        await verdicts.forget(owner, None)
        assert await verdicts.answers_of(owner) == []
        assert await self.judged(verdicts, [*mine, theirs]) == [Judged(theirs, DOWN)]

    async def test_answers_of_before_a_time_go_with_their_verdicts(self, verdicts: VerdictStore) -> None:
        owner, now = new_owner(), datetime.now(UTC)
        old = [msgspec.structs.replace(answered(chat), id=f"{0x10_0000 + place:012x}{'7' * 20}")
               for place, chat in enumerate(("chat", "", "chat", ""))]  # fmt: skip
        new = answered("chat")
        for answer in (*old, new):
            await verdicts.add(owner, answer)
            if answer in old[:2] or answer is new:
                await verdicts.judge(owner, answer.id, UP)
        await verdicts.delete_older(now - timedelta(days=1))
        assert await verdicts.answers_of(owner) == [(new, UP)]

    async def test_only_who_asked_can_judge_an_answer(self, verdicts: VerdictStore) -> None:
        owner, answer = new_owner(), answered()
        await verdicts.add(owner, answer)
        await verdicts.judge(owner, answer.id, UP)
        for caller, answer_id in (
            (new_owner(), answer.id),
            (owner, answer_id_of(new_turn_id())),
            (owner, "f" * 32),
            ("", answer.id),
        ):
            with pytest.raises(NotFound, match="no such answer of yours"):
                await verdicts.judge(caller, answer_id, DOWN)
        assert await self.judged(verdicts, [answer]) == [Judged(answer, UP)]

    async def test_a_run_that_begins_again_replaces_its_answer(self, verdicts: VerdictStore) -> None:
        owner, answer = new_owner(), answered()
        await verdicts.add(owner, answer)
        again = msgspec.structs.replace(answer, text="again")
        await verdicts.add(owner, again)
        await verdicts.judge(owner, answer.id, UP)
        assert await self.judged(verdicts, [answer]) == [Judged(again, UP)]

    async def test_with_a_chat_its_answers_and_verdicts_are_forgotten_and_no_others(
        self, verdicts: VerdictStore
    ) -> None:
        owner, other = new_owner(), new_owner()
        mine, open_one, elsewhere, theirs = answered("chat"), answered("chat"), answered("chats"), answered("chat")
        for who, answer in ((owner, mine), (owner, open_one), (owner, elsewhere), (other, theirs)):
            await verdicts.add(who, answer)
        for who, answer in ((owner, mine), (owner, elsewhere), (other, theirs)):
            await verdicts.judge(who, answer.id, UP)
        await verdicts.forget(owner, "chat")
        listed = await self.judged(verdicts, [mine, open_one, elsewhere, theirs])
        assert {one.answer.id for one in listed} == {elsewhere.id, theirs.id}
        for gone in (mine, open_one):
            with pytest.raises(NotFound):
                await verdicts.judge(owner, gone.id, UP)

    async def test_pages_list_the_newest_answers_first(self, verdicts: VerdictStore) -> None:
        owner = new_owner()
        answers = [
            msgspec.structs.replace(answered(), id=f"{0xFFF000000000 + n:012x}{uuid4().hex[12:]}") for n in range(5)
        ]
        for answer in answers:
            await verdicts.add(owner, answer)
            await verdicts.judge(owner, answer.id, UP)
        assert [one.answer.id for one in await self.judged(verdicts, answers)] == [one.id for one in answers[::-1]]

    async def test_what_nobody_judged_in_time_is_deleted(self, verdicts: VerdictStore) -> None:
        owner, days = new_owner(), (RETENTION_DAYS + 1, RETENTION_DAYS + 1, 1)
        # An id that ends in 00 by chance would let the store look for them before the verdict.
        ago = [f"{int((time.time() - 86_400 * day) * 1000):012x}{uuid4().hex[14:]}01" for day in days]
        judged, old, young = (msgspec.structs.replace(answered(), id=one) for one in ago)
        for answer in (young, judged):
            await verdicts.add(owner, answer)
        await verdicts.judge(owner, judged.id, UP)
        await verdicts.add(owner, old)
        # A store may look for them only now and then: at one of the ids of its own choice.
        await verdicts.add(owner, msgspec.structs.replace(answered(), id=f"{answer_id_of(new_turn_id())[:-2]}00"))
        with pytest.raises(NotFound):
            await verdicts.judge(owner, old.id, UP)
        assert await verdicts.judge(owner, young.id, UP) is True
        assert await verdicts.judge(owner, judged.id, DOWN) is False
