"""What the model says when it has no answer, in the language of the question."""

import re

from shared.words.stop_words import languages_of

_LONGEST_QUESTION = 500
"""Characters of a question that its language is told by."""

_DONT_KNOW_BY_TAGS = {
    "ar": "لا أعلم: لا تذكر المستندات شيئًا عن ذلك.",
    "ca": "No ho sé: els documents no en diuen res.",
    "cs": "Nevím: v dokumentech o tom nic není.",
    "da": "Det ved jeg ikke: Der står intet om det i dokumenterne.",
    "de": "Das weiß ich nicht: In den Dokumenten steht nichts dazu.",
    "el": "Δεν γνωρίζω: τα έγγραφα δεν λένε τίποτα γι' αυτό.",
    "en": "I don't know: the documents say nothing about that.",
    "eo": "Mi ne scias: la dokumentoj diras nenion pri tio.",
    "es": "No lo sé: los documentos no dicen nada al respecto.",
    "et": "Ma ei tea: dokumentides pole selle kohta midagi.",
    "eu": "Ez dakit: dokumentuek ez dute horri buruz ezer esaten.",
    "fa": "نمی‌دانم: در اسناد چیزی در این باره نیامده است.",
    "fi": "En tiedä: asiakirjoissa ei sanota siitä mitään.",
    "fr": "Je ne sais pas : les documents n'en disent rien.",
    "ga": "Níl a fhios agam: níl aon rud faoi sin sna doiciméid.",
    "he": "לא ידוע לי: אין על כך דבר במסמכים.",
    "hi": "मुझे पता नहीं: दस्तावेज़ों में इसके बारे में कुछ नहीं लिखा है।",
    "hu": "Nem tudom: a dokumentumok nem írnak erről semmit.",
    "hy": "Չգիտեմ. փաստաթղթերում այդ մասին ոչինչ չկա։",
    "id": "Saya tidak tahu: dokumen tidak menyebutkan apa pun tentang hal itu.",
    "it": "Non lo so: i documenti non ne parlano.",
    "ja": "わかりません。文書にはそれについて何も書かれていません。",
    "ko": "모르겠습니다. 문서에 그에 대한 내용이 없습니다.",
    "lt": "Nežinau: dokumentuose apie tai nieko nėra.",
    "ne": "मलाई थाहा छैन: कागजातहरूमा यसबारे केही लेखिएको छैन।",
    "nl": "Dat weet ik niet: de documenten zeggen daar niets over.",
    "no nb nn": "Det vet jeg ikke: Dokumentene sier ingenting om det.",
    "pl": "Nie wiem: w dokumentach nic o tym nie ma.",
    "pt": "Não sei: os documentos não dizem nada sobre isso.",
    "ro": "Nu știu: documentele nu spun nimic despre asta.",
    "ru": "Я не знаю: в документах об этом ничего нет.",
    "sr": "Не знам: у документима о томе нема ничега.",
    "sv": "Det vet jag inte: dokumenten säger ingenting om det.",
    "ta": "எனக்குத் தெரியாது: ஆவணங்களில் இதைப் பற்றி எதுவும் இல்லை.",
    "th": "ไม่ทราบ: เอกสารไม่ได้กล่าวถึงเรื่องนี้",
    "tr": "Bilmiyorum: belgelerde bununla ilgili bir şey yok.",
    "uk": "Я не знаю: у документах про це нічого немає.",
    "vi": "Tôi không biết: các tài liệu không nói gì về điều đó.",
    "zh": "不知道：文件未提及此事。",  # the same in simplified and traditional characters
}
DONT_KNOW = {tag: sentence for tags, sentence in _DONT_KNOW_BY_TAGS.items() for tag in tags.split()}
"""The answer to a question that no source answers, by language: the first part of a BCP 47 tag."""

_UNSPACED = (
    ("ja", re.compile("[\u3040-\u30ff]")),
    ("zh", re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")),
    ("ko", re.compile("[\u1100-\u11ff\uac00-\ud7a3]")),
    ("th", re.compile("[\u0e00-\u0e7f]")),
)
"""Scripts of languages without stop words. Japanese comes before Chinese, as it has Chinese characters too."""
_OTHER_WORD = re.compile("[A-Za-z\u00c0-\u024f\u0370-\u06ff]+")
_LETTERS = (
    ("el", re.compile("[\u0370-\u03ff\u1f00-\u1fff]")),
    ("uk", re.compile("[іїєґ]", re.IGNORECASE)),
    ("ru", re.compile("[\u0400-\u052f]")),
    ("hy", re.compile("[\u0530-\u058f]")),
    ("he", re.compile("[\u0590-\u05ff]")),
    ("fa", re.compile("[پچژگکی]")),
    ("ar", re.compile("[\u0600-\u06ff]")),
    ("hi", re.compile("[\u0900-\u097f]")),
    ("ta", re.compile("[\u0b80-\u0bff]")),
    ("tr", re.compile("[ğıĞİşŞ]")),
    ("ro", re.compile("[ășțâî]", re.IGNORECASE)),
    ("pl", re.compile("[ąćęłńśźż]", re.IGNORECASE)),
    ("vi", re.compile("[\u1ea0-\u1ef9ơư]", re.IGNORECASE)),
    ("es", re.compile("[ñ¿¡]", re.IGNORECASE)),
    ("de", re.compile("[äöüß]", re.IGNORECASE)),
)
"""Letters that tell the language of a question whose stop words do not, such as `Preis?` or `Ce a tradus …?`."""


def answer_language(question: str, wanted: str | None = None) -> str:
    """Return the language to refuse in, a key of `DONT_KNOW`: the wanted one, else the question's, else English.

    Args:
        question: The question.
        wanted: A BCP 47 tag; one of a language without a sentence is left out.
    """
    tag = (wanted or "").partition("-")[0].lower()
    if tag in DONT_KNOW:
        return tag
    question = question[:_LONGEST_QUESTION]
    characters = sum(len(script.findall(question)) for _, script in _UNSPACED)
    if characters > len(_OTHER_WORD.findall(question)):
        return next(language for language, script in _UNSPACED if script.search(question))
    found = [language for language in languages_of(question) if language in DONT_KNOW]
    if len(found) == 1:
        return found[0]
    told = (one for one, letters in _LETTERS if letters.search(question) and (one in found or not found))
    return next(told, found[0] if found else "en")
