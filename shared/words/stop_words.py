"""Stop words in English and German, and the detection of a text's language by them."""

from collections.abc import Iterable, Sequence
from typing import Literal

from shared.words.terms import fold

type Language = Literal["en", "de"]


def _folded(listed: str) -> frozenset[str]:
    return frozenset(fold(word) for word in listed.split())


ENGLISH = _folded("""
a about again all also am an and any are aren't as at be because been before being both but by can can't cannot could
did didn't do does doesn't doing don't during each either else ever every for from further get gets give got had has
have having he her here hers him his how however i i'd i'll i'm i've if in into is isn't it it's its itself just let
like many may me might mine more most much must my myself neither no nor not of off on once one only or other our
ours out over own please same shall she should so some such tell than that that's the their theirs them then there
these they this those through to too under until up upon us very want was wasn't we were what what's when where
whether which while who who's whom whose why will with within without would yes you your yours
""")
"""English stop words, with words that introduce a question, such as 'tell me' and 'please'."""

GERMAN = _folded("""
aber alle allem allen aller alles als also am an andere anderen anderer anderes auch auf aus bei beim bin bis bist
bitte da dabei dafür dafuer daher damit dann daran darauf darf darin darüber darueber das dass davon dazu dein deine
deinem deinen deiner dem den denen denn der deren des dessen die dies diese diesem diesen dieser dieses doch dort du
durch dürfen duerfen ein eine einem einen einer eines er es etwas euch euer eure für fuer gibt hab habe haben hast hat
hatte hatten hätte haette hier ich ihm ihn ihnen ihr ihre ihrem ihren ihrer ihres im in ins ist ja jede jedem jeden
jeder jedes jemand kann kannst kein keine keinem keinen keiner können koennen könnte koennte man manche mein meine
meinem meinen meiner mich mir mit muss musst müssen muessen nach nein nicht nichts noch nun nur ob oder ohne sehr sein
seine seinem seinen seiner sich sie sind so solche soll sollen sollte sondern sonst über ueber um und uns unser unsere
unserem unseren unserer unter viel viele vom von vor wann war waren warum was weil welche welchem welchen welcher
welches wem wen wenn wer werde werden wessen wie wieder wieso wieviel will wir wird wirst wo wofür wofuer woher wohin
womit worden wurde wurden würde wuerde zu zum zur zwischen
""")
"""German stop words, with 'bitte'."""

ASKING = _folded("""
document documents file page happen happens know say says said tell explain describe information info much many long
often far high big old large dokument dokumente dokumenten datei seite passiert wissen steht stehen sagen sagt erklären
erkläre informationen lange lang oft hoch weit groß gilt gelten thema beim mehr
""")
"""Question words in both languages that an answer need not contain, such as 'how long' and 'explain'."""

LIGHT = _folded("""
allow allowed apply ask bring change choose cost costs cover covered covers eligible entitled include included includes
mean means need needed offer offered offers paid pay pays possible provide provided receive send start take use used
work works anspruch beantrage beantragen bekomme bekommen bekommt bezahlt brauche brauchen dauert erhalte erhalten
kostet möglich nehme nehmen übernimmt zahlt
""")
"""Words in both languages that say little about a question's subject. An answer may use others in their place."""

_AMBIGUOUS = (ENGLISH & GERMAN) | _folded("bin den die des dies hat her him i man mine nun per so um us war was")
"""Words that exist in both languages, so that they are evidence for neither."""

_BY_LANGUAGE: dict[Language, frozenset[str]] = {"en": ENGLISH, "de": GERMAN}


def languages_of(folded: Iterable[str]) -> tuple[Language, ...]:
    """Detect the language of words by the stop words among them.

    Args:
        folded: Words as `fold` returns them.

    Returns:
        The language with the most stop words, both if they have equally many, or none if there are no stop words.
    """
    evidence = [word for word in folded if word not in _AMBIGUOUS]
    counts: dict[Language, int] = {
        language: sum(word in listed for word in evidence) for language, listed in _BY_LANGUAGE.items()
    }
    most = max(counts.values())
    return tuple(language for language, count in counts.items() if count == most) if most else ()


def stop_words(languages: Sequence[Language]) -> frozenset[str]:
    """The stop words of these languages, folded."""
    return frozenset[str]().union(*(_BY_LANGUAGE[language] for language in languages))
