"""Function words, telling endings and telling letters of the languages that `language.detect` tells apart.

Closed classes only (articles, pronouns, prepositions, conjunctions, auxiliaries, question words, commonest adverbs):
they stand in any text, whatever it is about. Written by hand for this package.
"""

from __future__ import annotations

WORDS = {
    "en": """
        the of and to in is that it for as with on be by this are was or from at not an have has had
        were which can but will would their its they when if than then there these those been being
        into such only other more most also any each should could may must does do did what who whom
        whose how why where while because between through about after before under over both same so
        no nor we you your our us i he she his her him them my me let's don't doesn't isn't can't
        it's however therefore thus without within upon whether either neither some many much few
        all one two like just very even still yet already since until although though up out now
        here new use used using make makes made allow allows need needs given see note example
        instead rather
    """,
    "es": """
        el la los las un una unos unas de del al a en y e o u que se su sus con por para como más
        pero sin sobre entre hasta desde cuando donde dónde quién quien quienes cuál cual cuáles
        cuándo cuánto cuántos cuántas qué cómo porque porqué aunque mientras también tampoco muy ya
        no sí si es son era eran fue fueron ser ha han había habían está están estaba estar este
        esta estos estas ese esa esos esas aquel aquella esto eso lo le les me te nos mi mis tu tus
        yo él ella ellos ellas nosotros usted ustedes otro otra otros otras todo toda todos todas
        cada mismo misma cualquier uno dos tres primer primera después antes durante según contra
        hacia bajo tras mediante así entonces sólo solo además hay tiene tienen tenía puede pueden
        podría hace hacer parte nombre tipo cuya cuyo cuyos algunos algunas alguno muchos muchas
    """,
    "fr": """
        le la les un une des du de et à au aux en dans est sont était étaient être été a ont avait
        avaient avoir que qui quoi dont où quand comment pourquoi quel quelle quels quelles ce cet
        cette ces se sa son ses leur leurs il elle ils elles nous vous je tu on y ne pas plus moins
        pour par avec sans sur sous entre vers chez mais ou donc or ni car si comme aussi très bien
        tout toute tous toutes autre autres même mêmes chaque après avant pendant depuis jusqu lors
        ainsi alors encore toujours jamais peut peuvent doit doivent fait faire lui eux soi notre
        votre nos vos mon ton cela ceci celui celle ceux deux trois selon contre afin lorsque
        puisque parce
    """,
    "de": """
        der die das den dem des ein eine einen einem einer eines und oder aber denn doch nicht kein
        keine keinen ist sind war waren wird werden wurde wurden worden sein hat haben hatte hatten
        habe kann können könnte muss müssen soll sollte darf mag ich du er sie es wir ihr mich mir
        dich dir ihn ihm uns euch sich mein dein seine seiner seinen ihre ihrer ihren unser in im an
        am auf aus bei beim mit nach von vom vor zu zum zur über unter zwischen durch für gegen ohne
        um bis seit während wegen als wie wenn weil dass daß ob wo wer was wann warum welche welcher
        welches dieser diese dieses diesem diesen jeder jede jedes alle auch nur noch schon sehr
        mehr so dann hier dort nun man etwas nichts zwei drei beide andere anderen zwar jedoch sowie
        bzw
    """,
    "pt": """
        o a os as um uma uns umas de do da dos das em no na nos nas ao aos à às por pelo pela pelos
        pelas para com sem sob sobre entre até desde e ou mas que se não sim como quando onde quem
        qual quais porque porquê embora enquanto também muito mais menos já ainda só é são era eram
        foi foram ser está estão estava estar tem têm tinha ter há havia seu sua seus suas meu minha
        eu tu ele ela eles elas nós você vocês lhe lhes me te isto isso aquilo este esta estes estas
        esse essa esses essas aquele aquela outro outra outros outras todo toda todos todas cada
        mesmo mesma qualquer após antes depois durante segundo contra pode podem poderia fazer faz
        dois duas três num numa cujo cuja
    """,
    "it": """
        il lo la i gli le un uno una di del dello della dei degli delle a al allo alla ai agli alle
        da dal dalla dai dalle in nel nello nella nei nelle con su sul sulla sui sulle per tra fra e
        ed o ma che chi cui non si è sono era erano fu furono essere stato stata stati ha hanno
        aveva avevano avere questo questa questi queste quello quella quelli quelle suo sua suoi sue
        loro io tu lui lei noi voi mi ti ci vi ne come quando dove perché quale quali quanto quanti
        anche ancora già più meno molto molti tutto tutta tutti tutte altro altra altri altre ogni
        stesso stessa dopo prima durante secondo contro verso senza sotto sopra può possono deve
        così quindi però mentre se due tre
    """,
    "nl": """
        de het een en of maar want dus niet geen is zijn was waren wordt worden werd werden geweest
        heeft hebben had hadden kan kunnen kon moet moeten zal zullen zou zouden mag ik jij je hij
        zij ze wij we jullie u hem haar hen hun ons mij mijn jouw uw in op aan van voor met naar bij
        uit door over onder tussen tegen zonder tot sinds tijdens na om te als dan dat die dit deze
        wie wat waar wanneer waarom hoe welke welk er ook nog al wel zeer meer veel zo toen hier
        daar nu men iets niets alle elke ieder andere eigen zelf omdat hoewel terwijl zoals twee
        drie
    """,
    "ca": """
        el la els les un una uns unes de del dels al als a en amb per pel pels i o que què se es no
        ni però sinó com quan on qui quin quina quins quines perquè també molt molts més menys ja
        encara només és són era eren fou ser estar està estan ha han havia haver aquest aquesta
        aquests aquestes aquell aquella això allò seu seva seus seves meu meva jo tu ell ella ells
        elles nosaltres vosaltres li els hi ho em et ens us altre altra altres tot tota tots totes
        cada mateix qualsevol després abans durant segons contra cap sobre entre fins des sense sota
        pot poden fer fa dos dues tres va van
    """,
    "sv": """
        och att det som en ett är var av för på med till den de inte om har hade från eller men vid
        kan ska skulle så sig han hon vi ni jag du man än när där hur vad vem vilken vilket denna
        detta dessa alla också mycket mer under efter mellan över genom utan mot blir blev blivit
        vara varit sin sitt sina hans hennes deras
        någon några något göra gör ut in upp tillbaka använda används dig mig din ditt dina bara endast
        därför sätt flera först både annan annat andra varje samt medan antingen bör kunde finns dock
    """,
    "da": """
        og at det som en et er var af for på med til den de ikke om har havde fra eller men ved kan
        skal skulle så sig han hun vi jeg du man end når hvor hvordan hvad hvem hvilken denne dette
        disse alle også meget mere under efter mellem over gennem uden mod bliver blev blevet være
        været sin sit sine hans hendes deres nogen nogle noget gøre gør ud ind op tilbage bruge bruges
        dig mig din dit dine hvis selv kun derfor måde måder flere først både andet andre hver hvert
        samt mens enten således dog bør kunne findes
    """,
    "no": """
        og at det som en et er var av for på med til den de ikke om har hadde fra eller men ved kan
        skal skulle så seg han hun vi jeg du man enn når hvor hvordan hva hvem hvilken denne dette
        disse alle også mye mer under etter mellom over gjennom uten mot blir ble blitt være vært
        sin sitt sine hans hennes deres noen noe gjøre gjør ut inn opp tilbake bruke brukes deg meg din
        ditt dine hvis dersom selv bare kun derfor måte måter flere først både annet andre hver hvert
        samt mens enten slik dog bør kunne finnes
    """,
    "fi": """
        ja on ei että se oli ovat olivat mutta tai kun niin kuin joka jotka jossa myös sen hän he
        tämä nämä mitä missä miten miksi kuka ole olla ollut vain mukaan kanssa sekä jos vielä nyt
        sitten ennen jälkeen
        eivät en emme minä sinä me te sitä siitä siihen sillä niitä niiden näiden tämän tätä tässä tästä
        jonka jota joita joiden jolla kuten kaikki muu muut muita eikä jotta koska vaikka kunnes ellei
        ettei voi voidaan voit täytyy pitää saa tulee ilman kautta takia lisäksi paitsi vasta hyvin enää
        aina jokin jokainen itse toinen toisen
    """,
    "pl": """
        i w na z że się nie do jest to są był była było były jak ale lub albo dla od po przez przy
        oraz który która które których czy co kto gdzie kiedy dlaczego jego jej ich tego tej tym
        także tylko już więc może przed między bez
    """,
    "ro": """
        și în de la cu pe din un o este sunt era au a fost nu că care ce cum când unde cine sau dar
        pentru prin după între fără despre mai foarte acest această aceste acestea lui ei lor său sa
        sale al ale ai cel cea cei
    """,
    "tr": """
        ve bir bu da de için ile olarak olan ne nasıl neden nerede kim hangi daha çok en gibi kadar
        sonra önce ama veya değil var yok olduğu oldu tarafından üzerinde arasında her
    """,
    "hu": """
        és a az egy hogy nem is van volt voltak meg de vagy mint csak már még ki mi hol mikor hogyan
        miért melyik ez azt ezt ami amely akik lehet után előtt között nélkül szerint
        ha kell lesz legyen ezek azok amelyek amelyet amikor ahol akkor így úgy mert mivel pedig illetve
        valamint majd most itt ott minden egyik másik több nagyon alatt felett mellett ellen helyett
        által óta felé ennek annak ebben abban erre arra
    """,
    "hr": """
        i u je na se za da su od s sa koji koja koje što kao iz po ne biti bio bila bilo bili će ako ili
        ali jer kada gdje kako zašto tko ovaj ova ovo taj ta to nije nisu može mogu mora treba samo već
        također prije poslije između bez kroz prema njegov njihov sve svi ima imaju
    """,
    "id": """
        yang dan di ke dari untuk dengan pada adalah ini itu tidak dapat akan atau oleh sebagai dalam juga
        anda kita kami mereka dia saya karena jika bila saat ketika bagaimana apa siapa mana mengapa lebih
        telah sudah belum bisa harus ada hanya semua setiap lain tetapi namun seperti antara tanpa setelah
        sebelum tersebut para secara masih lagi maka agar hal
    """,
    "vi": """
        và của là có không được cho các những một trong với để này đó khi nếu thì bạn tôi chúng từ đến
        trên dưới về như cũng đã sẽ đang bằng theo vào ra nhiều phải cần hay hoặc nhưng vì tại sau trước
        mọi mỗi nên rất chỉ còn lại người nào đây
    """,
    "cs": """
        a v na se je že s z do to jsou byl byla bylo byli jak ale nebo pro od po při který která
        které kteří co kdo kde kdy proč jeho její jejich také jen již může před mezi bez podle
    """,
}

CODE_WORDS = frozenset("os as do var del com val man den min set sub con des per".split())  # noqa: SIM905
"""Words that source code is full of, whatever language its prose is in."""

ENDINGS = {
    "en": "ing tion tions ness ment ments ally able ible ously "
    "ingly ght ould ity ism ful less ship hood ward",
    "es": "ción ciones dad dades mente ado ada ados adas ido ida idos "
    "idas ando iendo ía ían aron ieron oso osa ble bles ión",
    "fr": "eux euse euses ées aux tion tions ement ements ité ités ique iques eur eurs ait aient",
    "de": "ung ungen heit keit lich liche lichen schaft isch ische ischen chen tät",
    "pt": "ção ções dade dades mente ando endo ada ado ões ão ãos ário ária",
    "it": "zione zioni ità mente ato ata ati ate ando endo ezza ità aggio etto",
    "nl": "ing ingen heid lijk lijke isch ische tie ties aar",
    "ca": "ció cions tat tats ment ada ades ats ic ica ïtat",
    "sv": "ningen ning het heten lig liga isk iska",
    "da": "ningen else elsen hed heden lig lige isk iske",
    "no": "ningen else elsen het heten lig lige isk iske",
    "fi": "ssa ssä lla llä sta stä ista istä inen minen isen aan iin ksi tta ttä lle lta ltä vat vät taan tään",
    "pl": "ego emu ych ami ość ości anie enie ski ska",
    "ro": "ului ilor ție ții ului are ească",
    "tr": "lar ler ında inde dır dir ları leri",
    "hr": "anje enje nost skog skih anja enja",
    "id": "annya kannya",
    "hu": "ban ben ság ség nak nek ból ből ása ése hoz hez höz tól től ról ről okat eket ható hető",
    "cs": "ého ému ých ami ost osti ání ení ský ská",
}

ELISIONS = {
    "l": ("fr", "it", "ca"),
    "d": ("fr", "it", "ca"),
    "n": ("fr", "ca"),
    "s": ("fr", "ca"),
    "m": ("fr", "ca"),
    "j": ("fr",),
    "c": ("fr", "it"),
    "qu": ("fr",),
    "un": ("it",),
    "all": ("it",),
    "dell": ("it",),
    "nell": ("it",),
    "sull": ("it",),
    "dall": ("it",),
    "quest": ("it",),
}
"""What stands before an apostrophe, as in `l'eau`, and whose it is."""

LETTERS = {
    "es": "ñ¿¡",
    "fr": "œêèûîë",
    "de": "ßäöü",
    "pt": "ãõ",
    "it": "ìò",
    "ca": "·",
    "sv": "å",
    "da": "øæå",
    "no": "øæå",
    "fi": "ä",
    "pl": "łąęśżźćń",
    "ro": "ățș",
    "tr": "ğışİ",
    "hu": "őű",
    "cs": "řěůžčš",
    "hr": "đćčšž",
    "vi": "ơưđăạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ",
}

SCRIPTS = (
    ("\u3040", "\u30ff", "ja"),
    ("\uac00", "\ud7af", "ko"),
    ("\u1100", "\u11ff", "ko"),
    ("\u3400", "\u9fff", "zh"),
    ("\u0400", "\u052f", "ru"),
    ("\u0370", "\u03ff", "el"),
    ("\u1f00", "\u1fff", "el"),
    ("\u0600", "\u06ff", "ar"),
    ("\u0750", "\u077f", "ar"),
    ("\u0590", "\u05ff", "he"),
    ("\u0900", "\u097f", "hi"),
    ("\u0980", "\u09ff", "bn"),
    ("\u0b80", "\u0bff", "ta"),
    ("\u0c00", "\u0c7f", "te"),
    ("\u0e00", "\u0e7f", "th"),
    ("\u0530", "\u058f", "hy"),
    ("\u10a0", "\u10ff", "ka"),
)
"""First and last character of a script, and the language that is most often written in it."""

WITHIN_SCRIPT = {"ru": (("uk", "іїєґ"), ("sr", "ђћџјљњ")), "ar": (("fa", "پچژگیک"),)}
"""Letters that tell another language of the same script."""
