"""Stop words of many languages, and the detection of a text's language by them.

The lists are short: words that a question needs for its grammar, and words that ask. Longer lists also hold words that
passages are about, and searches without these find less.
"""

from collections import Counter
from collections.abc import Collection
from functools import lru_cache
from itertools import chain

from shared.words.terms import spelled, words

_MAX_CACHED_WORDS = 16_384
"""Words whose languages are cached."""


def _spelled(listed: str) -> frozenset[str]:
    return frozenset(spelled(word) for word in listed.split())


_LISTED = {
    "en": """
a about again all also am an and any are aren't as at be because been before being both but by can can't cannot could
did didn't do does doesn't doing don't during each either else ever every for from further get gets give got had has
have having he her here hers him his how however i i'd i'll i'm i've if in into is isn't it it's its itself just let
like many may me might mine more most much must my myself neither no nor not of off on once one only or other our ours
out over own please same shall she should so some such tell than that that's the their theirs them then there these
they this those through to too under until up upon us very want was wasn't we were what what's when where whether
which while who who's whom whose why will with within without would yes you your yours
""",
    "de": """
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
""",
    "es": """
el la los las un una unos unas de del al a en con por para que qué quién quien quiénes quienes cuál cual cuáles cuales
cómo como cuándo cuando dónde donde adónde cuánto cuánta cuántos cuántas cuanto cuanta cuantos cuantas es son era eran
fue fueron ser sido está están estaba ha han había hay y e o u pero no ni más muy su sus se lo le les este esta estos
estas ese esa esos esas eso esto aquel también entre sobre sin hasta desde porque si todo todos toda todas yo tú usted
nosotros me te nos mi tu ya así durante según cada otro otra otros otras tiene tienen tenía
""",
    "fr": """
le la les l un une des de du d au aux à en dans par pour avec sans sur sous que qui quoi quel quelle quels quelles
comment quand où combien pourquoi est sont était étaient fut été être a ont avait avaient et ou mais ne pas n plus
très ce cet cette ces c se s sa son ses leur leurs il elle ils elles on je tu nous vous y dont si tout tous toute
toutes aussi entre comme même j' qu'est-ce qu' d'un d'une c'est mon ma mes votre vos notre nos peut lors depuis selon
chaque autre autres
""",
    "pt": """
o a os as um uma uns umas de do da dos das em no na nos nas ao aos à às por pelo pela pelos pelas para com sem que
quem qual quais como quando onde quanto quanta quantos quantas é são era eram foi foram ser sido está estão estava há
tem têm tinha e ou mas não nem mais muito seu sua seus suas se lhe ele ela eles elas este esta estes estas esse essa
isso isto aquele também entre sobre até desde porque todo todos toda todas eu você nós me já durante cada outro outros
""",
    "ru": """
и в во на с со к ко по о об от до из за у для при над под без что чтобы как так кто когда где куда откуда почему зачем
сколько какой какая какое какие каким какими каких какого какому каком какую чем чего чему кого кому кем который
которая которое которые которого которых которой котором чей чья это этот эта эти этого этой этих этом тот та те то
того тех он она оно они его ее её их ему ей им них нее был была было были быть есть будет не нет ни но а или же ли бы
если также только уже еще ещё все всех свой свою своих своей между после перед через время я мы вы ты мне нас вас
является являются являлся стал стала
""",
    "it": """
il lo la i gli le l un uno una di del dello della dei degli delle d a al allo alla ai agli alle da dal dalla dai dalle
in nel nello nella nei nelle con su sul sulla sui per tra fra che chi cosa quale quali come quando dove quanto quanta
quanti quante perché è sono era erano fu furono essere stato stata ha hanno aveva e ed o ma non né più molto si suo
sua suoi sue loro questo questa questi queste quello quella quelli anche se ci io tu noi voi mi ti cui tutto tutti
ogni altro altri dopo prima durante
""",
    "ar": """
في من على إلى الى عن مع هذا هذه ذلك تلك التي الذي الذين اللذين هو هي هم كان كانت كانوا يكون تكون أن ان إن أو او ثم لم
لن لا ما ماذا متى أين كيف كم هل لماذا أي اي أية كل بعض بين قد حيث بعد قبل عند منذ خلال حتى كما لكن بل غير إلا نحن أنا
أنت له لها لهم به بها فيه فيها منه منها عليه عليها إليه إليها وهو وهي ومن وفي وقد ولا كذلك أيضا ايضا مما بما فما ليس
ليست تم يتم وما هناك هنا اسم
""",
    "hi": """
के का की को में से पर है हैं था थी थे और या कि यह वह ये वे इस उस इन उन जो जिस जिसे जिसके ने तक भी ही तो एक लिए द्वारा
क्या कौन कौनसा कब कहाँ कहां कैसे क्यों कितना कितने कितनी किस किसने किसे किसके किसकी किन किया कर करने करता करते करती
गया गए गई हुआ हुई हुए हो होता होती होते रहा रहे रही अपने अपनी अपना साथ बाद नहीं न मैं हम आप उसके उनके इसके इसकी उसकी
उनकी थीं जा जाता जाती जाते दिया सा सी किसी कौन-सा वाले वाली वाला
""",
    "id": """
yang dan di ke dari pada untuk dengan adalah ini itu tidak apa siapa kapan dimana mana bagaimana mengapa kenapa berapa
oleh sebagai dalam akan telah sudah juga atau tetapi karena saya anda kami kita mereka ia dia nya ada dapat bisa
antara seperti saat para apakah
""",
    "tr": """
ve bir bu şu o da de ile için gibi kadar olarak olan olduğu oldu ne neden niçin nasıl kim kimin kime kimi kimler
nerede nereye nereden nere hangi hangisi kaç kaçıncı mi mı mu mü midir mıdır ki ama fakat veya ya ise değil en çok
daha her hiç onun onlar onların bunun bunlar sonra önce arasında tarafından göre üzerinde içinde var yok vardı idi
iken ben sen biz siz kendi bazı tüm diğer nedir kimdir neydi kimdi adı ettiği eden
""",
    "vi": """
là và của có không được trong cho với các những một này đó khi nào gì ai đâu ở từ đến về tại ra vào lên bởi do vì sao
thế như bao nhiêu lâu mà thì đã đang sẽ bị để theo trên dưới sau trước giữa hay hoặc nhưng cũng rất nhiều hơn người ta
tôi bạn chúng họ nó đây kia ấy mấy nơi làm cái con việc sự nếu còn đều mỗi mọi
""",
    "pl": """
i w na z ze do od po o u za przez przy przed między nad pod że który która które którzy jaki jaka jakie co kto kiedy
gdzie jak dlaczego ile jest są był była było były być będzie ma mają nie ale lub albo aby gdy tak także też się to ten
ta te tego tej tym jego jej ich swój dla oraz czy jako według ja ty my wy może można
""",
    "nl": """
de het een van in op aan en of dat die is was waren zijn te voor met niet er om door naar bij uit tot over als maar
ook nog wat wie waar wanneer hoe waarom hoeveel welke welk heeft hebben had hadden wordt werd werden worden kan kunnen
deze dit haar hun hem hij zij ze ik je jij we wij u mijn uw onder tussen tegen na dan meer zo
""",
    "ro": """
a al ai ale o un una unui unei unor de la în in din pe cu pentru prin către ce cine care cum când unde cât câtă câți
câte cui este sunt era erau fi fost au avea avut și si sau dar nu mai foarte său sa săi sale lui ei lor se s-a s-au îl
îi le acest această acești aceste acestui acestei acela aceea acel acea ca că să dacă după înainte între despre până
fără ori cel cea cei cele el ea ele eu tu noi voi îmi își sub asupra fiecare alt alte alți toate toți atunci este-s
de-a într-o într-un printre care-i timpul
""",
    "fa": """
و در به از که این آن با را برای است بود بودند هست هستند شد شده می های ها یک تا بر هم نیز اما یا اگر چه چگونه چرا کجا
کی کدام چند چیست آیا هر خود او ما شما آنها من تو دارد دارند داشت کرد کردند پس پیش بین
""",
    "el": """
ο η το οι τα του της των τον την τους τις στο στη στην στον στους στις στα σε με για από απο και ή να θα δεν δε μη μην
που πού πως πώς πότε ποιος ποια ποιο ποιοι ποιες ποιους ποιον ποιαν ποιου ποιας ποιων τι πόσο πόσα πόσοι πόσες πόσους
πόση γιατί όταν όπως αν ότι είναι ήταν έχει έχουν είχε είχαν ένα ένας μια μία μιας ενός αυτό αυτή αυτός αυτά αυτές
αυτοί αυτών αυτού αυτής αλλά κατά μετά πριν προς ως μεταξύ επίσης όσο κάθε πολύ πιο μου σου μας σας εγώ
""",
    "cs": """
a i o u v ve na do z ze s se k ke od po pro při před mezi nad pod že který která které kteří jaký jaká jaké co kdo kdy
kde jak proč kolik je jsou byl byla bylo byli být bude má mají ne není ale nebo aby když tak také jen již už si to ten
ta tento tato toto tyto jeho její jejich svůj jako podle mi mě vás nás můj může lze
""",
    "sv": """
och i på av att en ett den det de som är var till för med har hade han hon jag du vi inte om från men eller kan ska
skall vill blev blir bli vara varit vad vem när hur varför vilken vilket vilka många mycket sin sitt sina deras hans
hennes detta denna dessa också vid efter under mellan över så än där
""",
    "hu": """
a az és egy is nem hogy volt voltak van vannak mi ki mit kit mikor hol hogyan miért mennyi hány milyen melyik mely
amely amelyek aki akik ez ezek azt ezt de vagy mint csak még már meg el be fel le lesz lett én te ő ti ők szerint
között után előtt ha
""",
    "ca": """
el la els les un una uns unes de del dels al als a amb en per que què qui quin quina quins quines com quan on quant
quants quanta quantes és són era eren va van ser ha han hi ho i o però no més molt seu seva seus seves es s'ha d'un
d'una l' aquest aquesta aquests aquestes això allò també entre sobre sense fins des perquè si tot tots tota totes jo
tu nosaltres vostè em et li
""",
    "sr": """
и у на с са за од до из о по при као што који која које шта ко када где како зашто колико је су био била било били
бити није али или ако да не се то тај та овај ова ово ти он она они његов њихов свој само још већ
""",
    "no": """
og i på av at en et den det de der som er var til for med har hadde han hun jeg du vi ikke om fra men eller kan skal
vil ble blir bli være vært hva hvem hvor når hvordan hvorfor hvilken hvilket hvilke mange mye sin sitt sine deres hans
hennes dette denne disse også ved etter under mellom over hvis så
""",
    "da": """
og i på af at en et den det de der som er var til for med har havde han hun jeg du vi ikke om fra men eller kan skal
vil blev bliver blive være været hvad hvem hvor hvornår hvordan hvorfor hvilken hvilket hvilke mange meget sin sit
sine deres hans hendes dette denne disse også ved efter under mellem over når hvis så
""",
    "fi": """
ja on ei se ne hän he oli olivat ovat että joka jotka mikä mitkä mitä kuka ketkä missä milloin koska miten miksi
kuinka monta paljon mutta tai kun jos niin myös sekä hänen heidän sen niiden tämä nämä tuo ollut kuin minä sinä me te
minkä millainen mistä mihin kenen
""",
    "ne": """
को का की मा ले लाई र छ छन् थियो थिए हो हुन् भन्ने यो त्यो यस त्यस यी ती के कसले कहिले कहाँ कसरी किन कति कुन पनि तर वा
लागि बाट देखि सम्म गर्न गरेको भएको हुने छैन म हामी
""",
    "ta": """
ஒரு இந்த அந்த என்று என்ன யார் எப்போது எங்கே எப்படி ஏன் எத்தனை எந்த எது மற்றும் அல்லது ஆனால் உள்ளது இருந்தது இது அது
அவர் அவர்கள் அவன் அவள் நான் நாம் நீங்கள் என உள்ள போது பின்னர் முன்
""",
    "lt": """
ir yra buvo kad kas ką kur kada kaip kodėl kiek koks kokia kokie kuris kuri kurie ne nėra bet ar arba su į iš per prie
nuo iki po už apie tai tas ta šis ši jis ji jie jų jo savo taip pat tik dar aš tu mes jūs
""",
    "et": """
ja on ei et oli olid olnud see seda selle need nende kes mis mida millal kus kuidas miks kui palju milline millised ta
tema nad mina sina me te oma aga või ning ka kuid siis nii mitu mille kelle koos pärast enne üle alla
""",
    "hy": """
և է էր են էին որ որը որոնք մեջ համար ինչ ով երբ որտեղ ինչպես ինչու քանի որքան մի այս այդ այն նա նրա նրանց իր իրենց չէ
կամ բայց նաև հետ մասին էլ ու եմ ես դու մենք դուք
""",
    "eu": """
eta da dira zen ziren ez du dute zuen zuten bat hau hori hura zer nor non noiz nola zergatik zenbat zein ere baina edo
izan den egin dela
""",
    "ga": """
an na agus i is tá bhí ar le do de go ní a cad cé cá conas cathain cén nach raibh sé sí siad mé tú sinn ach nó seo sin
faoi ó chun
""",
    "st": """
ho le ke ka ya ba tsa wa ha o se e di bo mo la sa a na jwang kae neng mang eng hobane empa kapa
""",
    "eo": """
la de en kaj al estas estis kiu kiuj kio kie kiam kiel kial kiom ĉu ne kun por per pro sed aŭ pri el ĝi li ŝi ili mi
vi ni tiu tio ĉi dum post antaŭ
""",
}
STOP_WORDS = {language: _spelled(listed) for language, listed in _LISTED.items()}
"""The stop words of each language, in small letters, by the language's code (ISO 639-1)."""
ASKING = _spelled("""
document documents file page happen happens know say says said tell explain describe information info much many long
often far high big old large dokument dokumente dokumenten datei seite passiert wissen steht stehen sagen sagt erklären
erkläre informationen lange lang oft hoch weit groß gilt gelten thema beim mehr
""")
"""Question words in both languages that an answer need not contain, such as 'how long' and 'explain'."""

LIGHT = _spelled("""
allow allowed apply ask bring change choose cost costs cover covered covers eligible entitled include included includes
mean means need needed offer offered offers paid pay pays possible provide provided receive send start take use used
work works anspruch beantrage beantragen bekomme bekommen bekommt bezahlt brauche brauchen dauert erhalte erhalten
kostet möglich nehme nehmen übernimmt zahlt
""")
"""Words in both languages that say little about a question's subject. An answer may use others in their place."""


def _languages_by_word() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for language, listed in STOP_WORDS.items():
        for word in listed:
            found[word] = (*found.get(word, ()), language)
    return found


_LANGUAGES_BY_WORD = _languages_by_word()


@lru_cache(maxsize=_MAX_CACHED_WORDS)
def _languages_with(word: str) -> tuple[str, ...]:
    """The languages that have a word as it is written among their stop words."""
    return _LANGUAGES_BY_WORD.get(spelled(word), ())


def languages_of(text: str, among: Collection[str] = STOP_WORDS.keys()) -> list[str]:
    """Detect the language of a text by the stop words in it.

    Args:
        text: The text.
        among: The languages that it can be in.

    Returns:
        The language with the most stop words, or several that have equally many, those with more speakers first; empty
        if there are no stop words.
    """
    found = Counter(chain.from_iterable(map(_languages_with, words(text))))
    most = max((found[language] for language in among), default=0)
    return [language for language in STOP_WORDS if language in among and found[language] == most > 0]


def language_of(text: str, among: Collection[str] = STOP_WORDS.keys()) -> str | None:
    """Detect the language of a text; None if it is not clear."""
    found = languages_of(text, among)
    return found[0] if len(found) == 1 else None


def likely_language(text: str) -> str:
    """The language that a text is most likely in; English if it has no stop words."""
    return next(iter(languages_of(text)), "en")
