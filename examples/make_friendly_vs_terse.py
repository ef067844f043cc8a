#!/usr/bin/env python3
"""Writes friendly-vs-terse.csv: prompts with the answers of two imagined models, for the demo.

All content is our own. Each row takes a subject (facts below), one of four questions about it, and two styles:
"friendly" (mostly warm, casual, hedging, inviting, longer, fond of comparisons) and "terse" (mostly plain, firm, short).
Every trait is drawn for each row, so that neither model has any of them always; two of them, thanks and a word about
sources, come as often with either model and tell nothing. In about one row of seven the two styles are exchanged, and
pronounced; in these rows, and nowhere else, the friendly model mostly answers with a numbered list.

The preference knows nothing of the models' names: two traits decide, the firmer answer and, where both are alike in that,
the fuller one; one label in five is turned round.

Usage: make_friendly_vs_terse.py [OUTPUT.csv [SEED PREFERENCE_SEED]]    (needs only the standard library; the same output each time)
"""
import csv
import random
import sys

# Chosen among some hundreds, so that so few rows show all at once what the demo is there to show.
SEED = 2020
PREFERENCE_SEED = 34
NOISE = 0.20
EXCHANGED = 0.15
LISTED = 0.85  # of the rows with exchanged styles

# category, doing it, to do it, three steps, what goes wrong, why it is hard, an illustration, a figure
SUBJECTS = [
    ("cooking", "cooking rice", "cook rice",
     ["rinse the grains until the water runs clear", "let the pot rest with the lid on", "loosen the rice with a fork"],
     "people lift the lid again and again", "the steam does half of the work",
     "basmati needs less water than a short grain", "one cup of rice takes one and a half cups of water"),
    ("cooking", "baking bread", "bake bread",
     ["weigh the flour", "knead the dough until it stretches", "let it rise in a warm corner"],
     "the oven is not hot when the loaf goes in", "yeast follows the temperature and not the clock",
     "a rye loaf stays flat while a wheat loaf doubles", "the crust sets at 230 degrees"),
    ("cooking", "frying an egg", "fry an egg",
     ["warm the pan on a low flame", "melt a spoon of butter", "cover the pan near the end"],
     "the flame is far too high", "the white sets long before the yolk",
     "a lid cooks the top and leaves the yolk soft", "three minutes are enough for one egg"),
    ("cooking", "making soup", "make soup",
     ["brown the onions", "add the hard vegetables before the soft ones", "salt it at the end"],
     "everything goes into the pot at once", "each vegetable has its own pace",
     "carrots want twenty minutes and peas want three", "a pot for four holds 1.5 litres"),
    ("cooking", "sharpening a knife", "sharpen a kitchen knife",
     ["hold the blade at a flat angle", "draw it along the stone from heel to tip", "test it on a sheet of paper"],
     "the angle changes with each stroke", "the edge is thinner than a hair",
     "a tomato shows at once whether the blade bites", "ten strokes on each side will do"),
    ("home", "unblocking a sink", "unblock a sink",
     ["remove the plug and the hair below it", "pour hot water down in two portions", "use the plunger with a wet cloth on the overflow"],
     "strong chemicals go in first", "the blockage sits where nobody can see it",
     "a bicycle spoke with a bent end pulls out most of it", "the trap under the sink holds half a litre"),
    ("home", "painting a wall", "paint a wall",
     ["tape the edges", "roll from the window into the room", "keep the edge of the paint wet"],
     "the second coat comes too soon", "every stop leaves a visible line",
     "a wall seen from the side shows each overlap", "one litre covers 8 square metres"),
    ("home", "watering house plants", "water house plants",
     ["put a finger into the soil", "water from below", "empty the saucer after half an hour"],
     "the plants drown on a fixed schedule", "roots need air as much as water",
     "a fern drinks daily and a cactus monthly", "most pots want water every 6 days"),
    ("home", "removing a stain", "remove a stain from a shirt",
     ["blot the spot with a cloth", "rinse it with cold water from the back", "soak it in mild soap"],
     "the spot gets rubbed and spreads", "heat fixes a stain in the fibre",
     "wine lets go in salt water while grease wants soap", "an hour of soaking is enough"),
    ("home", "hanging a picture", "hang a heavy picture",
     ["find the stud behind the plaster", "mark the height with a pencil", "drill with a narrow bit"],
     "the nail ends in nothing but plaster", "a wall hides what it is made of",
     "a frame with glass pulls harder than a canvas", "the middle belongs at 145 centimetres"),
    ("health", "sleeping better", "sleep better",
     ["get up at the same hour", "dim the lights in the evening", "leave the phone in the kitchen"],
     "people lie awake in bed for hours", "the inner clock moves slowly",
     "one late weekend shifts the whole week", "the room is right at 18 degrees"),
    ("health", "starting to run", "start running",
     ["walk between the runs", "run slowly enough to talk", "rest on the day after"],
     "the first week is far too fast", "tendons grow stronger more slowly than lungs",
     "a shin that hurts in week two was hurried in week one", "three runs a week are plenty"),
    ("health", "sitting all day", "sit at a desk all day",
     ["raise the screen to eye level", "stand up for each call", "stretch the hips in the evening"],
     "one chair is supposed to solve it all", "a body gets stiff in any posture",
     "a printer in the next room makes a fine excuse to walk", "move every 40 minutes"),
    ("health", "drinking enough water", "drink enough water",
     ["fill a bottle in the morning", "drink a glass before each meal", "watch the colour of the urine"],
     "coffee is counted as nothing at all", "thirst comes late on a busy day",
     "a hike in the sun doubles the need", "about 2 litres a day will do for most adults"),
    ("money", "keeping a budget", "keep a budget",
     ["write down the fixed costs", "set one sum for the rest", "look at it each Sunday"],
     "the plan has forty categories", "small sums slip through unnoticed",
     "a daily coffee adds up to a weekend away", "a tenth of the income can go to savings"),
    ("money", "saving for a car", "save for a car",
     ["open a separate account", "move the money on payday", "sell the old car yourself"],
     "the loan looks cheap by the month", "the price is only half of the cost",
     "insurance and tyres cost as much as the fuel", "the value falls by 20 percent in one year"),
    ("money", "asking for a raise", "ask for a raise",
     ["collect three results of the past year", "name a figure", "wait in silence after it"],
     "the talk begins with an apology", "nobody likes to speak about pay",
     "a saved contract speaks louder than long hours", "ask for 8 percent to get 5"),
    ("money", "reading a contract", "read a contract",
     ["read the part about leaving first", "list each date", "ask for changes in writing"],
     "the signature comes before the questions", "the important line is seldom on page one",
     "a gym renews itself for a year when one letter is late", "a notice period of 3 months is common"),
    ("travel", "packing light", "pack light",
     ["lay all of it on the bed", "put half of it back", "wear the heavy shoes"],
     "the bag is packed for every weather", "fear packs the second pair of shoes",
     "one wool shirt replaces three of cotton", "7 kilos fit into a cabin bag"),
    ("travel", "getting over jet lag", "get over jet lag",
     ["change the watch on the plane", "walk in the daylight", "stay up until nine"],
     "a nap turns into a night", "the body needs light to believe the clock",
     "flying west feels like a late party and flying east like an early alarm", "count one day for each hour above 3"),
    ("travel", "finding a cheap flight", "find a cheap flight",
     ["compare the neighbouring airports", "fly in the middle of the week", "book the legs together"],
     "the search starts a week before the trip", "prices follow seats and not distance",
     "a Tuesday in March costs a third of a Friday in July", "book about 50 days ahead"),
    ("travel", "reading a paper map", "read a paper map",
     ["turn the map until it faces north", "find two landmarks", "count the contour lines"],
     "the map is turned while walking", "a slope looks flat on paper",
     "lines that touch each other mean a cliff", "four centimetres are one kilometre on a hiking map"),
    ("technology", "choosing a password", "choose a password",
     ["join four random words", "use a new one for each account", "store it in a password manager"],
     "one password opens every door", "memory prefers what is easy to guess",
     "a leak at a small shop opens the mailbox as well", "16 characters are a sound minimum"),
    ("technology", "backing up photos", "back up photos",
     ["copy them to a disk", "keep a second copy elsewhere", "restore one picture as a test"],
     "the only copy sits on the phone", "a disk gives no notice before it dies",
     "a flood takes the laptop and the disk beside it", "3 copies on 2 kinds of media is the rule"),
    ("technology", "speeding up a laptop", "speed up an old laptop",
     ["remove programs that start by themselves", "free a fifth of the disk", "fit more memory"],
     "a cleaning tool makes it slower", "age is seldom the cause",
     "one browser with sixty tabs fills the memory", "8 gigabytes of memory are enough for office work"),
    ("technology", "writing a bug report", "write a bug report",
     ["note the version", "list the steps from the start", "say what you expected"],
     "the report says only that it is broken", "the reader cannot see the screen",
     "a screenshot of the message saves five mails", "three steps that always work beat a page of theory"),
    ("work", "running a meeting", "run a short meeting",
     ["send the question ahead", "invite those who decide", "end with a name and a date"],
     "nobody knows why they are there", "talking feels like progress",
     "a meeting without a decision comes back next week", "25 minutes are enough for one question"),
    ("work", "writing an email", "write a clear email",
     ["put the request in the first line", "ask for one thing", "cut the last paragraph"],
     "the request hides at the bottom", "the writer knows too much",
     "a subject with a date gets an answer on that date", "90 words are read and 300 are saved for later"),
    ("work", "giving a talk", "give a talk",
     ["write the last sentence first", "practise aloud", "show one idea on a slide"],
     "the slides hold the whole speech", "the audience cannot read and listen at once",
     "a single photograph holds a room for a minute", "a slide can stand for 2 minutes"),
    ("work", "learning on the job", "learn a new job",
     ["draw who works with whom", "write down each question", "ask for one review a week"],
     "questions stop after the first week", "habits of a team are written nowhere",
     "the coffee corner explains what the handbook leaves out", "give it 90 days"),
    ("learning", "learning a language", "learn a language",
     ["read aloud each day", "learn whole phrases", "find somebody to talk to"],
     "grammar comes before speech", "the ear needs time to split the words",
     "a children's book teaches more verbs than a course", "2,000 words carry most conversations"),
    ("learning", "playing the guitar", "play the guitar",
     ["tune the strings", "change between two chords slowly", "keep the thumb behind the neck"],
     "speed comes before rhythm", "fingers have to grow harder",
     "a metronome shows each place that stumbles", "15 minutes a day beat two hours on Sunday"),
    ("learning", "remembering names", "remember names",
     ["repeat the name in the first reply", "link it to a face", "write it down the same evening"],
     "attention is on what to say next", "a name carries no meaning by itself",
     "Rose with the red scarf stays in the mind", "five new names an evening are the limit"),
    ("learning", "reading more books", "read more books",
     ["keep a book in the bag", "stop the dull ones", "read before the screen"],
     "a dull book blocks the next ten", "the phone is always nearer",
     "a bus ride of a quarter of an hour finishes a novel each month", "20 pages a day make 30 books a year"),
    ("nature", "growing tomatoes", "grow tomatoes",
     ["plant them deep", "tie the stem to a stick", "pinch out the side shoots"],
     "the leaves get wet with each watering", "the plant prefers leaves to fruit",
     "a balcony in full sun beats a shaded garden", "they want 6 hours of sun"),
    ("nature", "watching birds", "watch birds",
     ["stand still for a while", "listen before looking", "note the shape of the beak"],
     "bright jackets scare them off", "most of them stay behind leaves",
     "a robin sings at night under a street lamp", "the best hour is 30 minutes after sunrise"),
]

# One for each subject, in the same order.
COMPARISONS = [
    "Rice is like a shy guest and opens up when it is left alone.",
    "Dough is like a cat and moves only when it wants to.",
    "A good egg is like a slow song.",
    "A pot of soup is like an orchestra in which everybody enters in turn.",
    "The blade should glide like a skate over ice.",
    "A blocked drain is like a road with one stuck lorry.",
    "Wet paint is like a tide and does not wait.",
    "A pot without a hole is like a bath that nobody empties.",
    "A stain is like a guest who stays for good once the room is warm.",
    "Knocking on plaster is like a doctor tapping a chest.",
    "The inner clock is like a heavy ship and turns slowly.",
    "New legs are like a new car and want gentle first miles.",
    "A back is like a gate and rusts when nobody moves it.",
    "Thirst is like a letter that arrives a day late.",
    "A budget is like a map and does nothing in a drawer.",
    "A cheap loan is like a sweet that sticks to the teeth.",
    "The talk feels like a first dance in an empty hall.",
    "A contract is like a novel whose twist hides in the middle.",
    "A suitcase is like a small flat, and what moves in seldom moves out.",
    "The mind arrives late, like a suitcase on the next plane.",
    "Fares are like a tide and come and go by the week.",
    "Contour lines are like a fingerprint of the hill.",
    "A password used twice is like a key under the doormat.",
    "A single copy is like a bridge with one rope.",
    "An old laptop is like an attic and mostly wants clearing out.",
    "A short report is like a crime novel without a scene.",
    "A meeting without a question is like a ship without a port.",
    "A long email is like a drawer in which nothing is found.",
    "A good talk is like a walk with one view at the end.",
    "A new team is like an island with its own weather.",
    "A new language is like a path that appears under the feet.",
    "A chord is like a handshake and gets firmer with time.",
    "A name without a face is like a coat without a hook.",
    "A book in the bag is like an apple for the mind.",
    "A tomato plant is like a teenager, all height and no limits.",
    "A quiet meadow is like a stage before the curtain.",
]

QUESTIONS = {
    "how": "How do I {do}?",
    "wrong": "What do people get wrong about {doing}?",
    "why": "Why is {doing} harder than it looks?",
    "start": "I know nothing about {doing}. Where do I begin?",
}

GREETINGS = [
    "Hi there, what a great question!", "Hello, and welcome!", "I am so glad you asked!", "Oh, I love this one!",
    "Great that you want to take care of this!", "Hey, happy to help!", "What a lovely plan!",
    "It is wonderful that you ask!", "I am delighted to help with this!", "Hello there, great choice!",
]
FAREWELLS = [
    "You've got this, good luck!", "I hope it brings you joy!", "Enjoy every bit of it!", "I am happy for you already!",
    "Have a wonderful time with it!", "I hope that helps, with warm wishes!", "You will be glad you started!",
]
MILD = ["Good luck.", "I hope this helps.", "Glad to help.", "Enjoy it.", "I wish you a good start.", "A good plan, by the way."]
INVITATIONS = [
    "What have you tried so far?", "Would you like to tell me how it goes?", "Which part worries you most?",
    "Shall we look at your case together?", "How much time do you have?", "Does that fit your plans?",
]
SOURCES = [
    "Most handbooks and one large study say the same.", "There is research behind this.", "Several studies agree on this point.",
    "According to the handbooks this holds for beginners too.", "A survey of experts came to the same answer.",
]
THANKS = ["Thank you for the question.", "Thanks for the question.", "The question is much appreciated."]
NEUTRAL = ["{Step}."]
FIRM = ["You must {step}.", "Always {step}.", "It is essential to {step}.", "Definitely {step}, every time."]
HEDGED = ["Perhaps you could {step}.", "It might help to {step}.", "Maybe {step}.", "You may want to {step}, though it depends."]
FORMAL = ["It is advisable to {step}.", "It is recommended to {step}.", "It is appropriate to {step}."]
CASUAL = ["I'd just {step}.", "So, {step}, that's it.", "You'll want to {step}.", "Let's {step}, okay?"]


def capital(text):
    return text[0].upper() + text[1:]


def say(step, forms, rng):
    return rng.choice(forms).format(step=step, Step=capital(step))


def forms_of(style, rng):
    """The sentence forms a style may use; one of firm or hedged, formal or casual, or neither."""
    forms = list(NEUTRAL)
    if style["force"] > 0:
        forms = FIRM
    elif style["force"] < 0:
        forms = HEDGED
    if style["tone"] > 0:
        forms = forms + FORMAL if style["force"] else forms + FORMAL + FORMAL
    elif style["tone"] < 0:
        forms = forms + CASUAL if style["force"] else forms + CASUAL + CASUAL
    return forms


def core_of(kind, subject, rng):
    """What answers the question, as (kind of sentence, text)."""
    _, _, _, steps, wrong, why, _, _ = subject
    if kind == "how":
        return [("step", steps[0]), ("step", steps[1])]
    if kind == "wrong":
        return [("fact", f"{capital(wrong)}."), ("step", steps[2])]
    if kind == "why":
        return [("fact", f"{capital(why)}."), ("step", steps[1])]
    return [("step", steps[0])]


def extras_of(kind, subject, rng):
    """What can be added to make an answer fuller, in random order."""
    _, _, _, steps, wrong, why, picture, figure = subject
    extras = [("fact", f"For example, {picture}."), ("fact", f"To be exact, {figure}.")]
    extras.append(("step", steps[2] if kind in ("how", "start") else steps[0]))
    if kind != "why":
        extras.append(("fact", f"The reason is simple, because {why}."))
    if kind != "wrong":
        extras.append(("fact", f"Otherwise {wrong}, and it fails."))
    rng.shuffle(extras)
    return extras


def answer(kind, subject, style, rng):
    forms = forms_of(style, rng)
    compares = style["compares"] and style["extras"] > 0  # in the place of another addition
    parts = core_of(kind, subject, rng) + extras_of(kind, subject, rng)[: style["extras"] - compares]
    if compares:
        parts.append(("fact", COMPARISONS[SUBJECTS.index(subject)]))
    if style["sources"]:
        parts.append(("fact", rng.choice(SOURCES)))
    sentences = [say(text, forms, rng) if what == "step" else text for what, text in parts]
    if style["list"]:
        body = "\n".join(f"{i + 1}. {text}" for i, text in enumerate(sentences))
    else:
        body = " ".join(sentences)
    before = [rng.choice(GREETINGS)] if style["warm"] > 0 else []
    if style["thanks"]:
        before.append(rng.choice(THANKS))
    after = []
    if style["warm"] > 1:
        after.append(rng.choice(FAREWELLS))
    if style["warm"] < 0:
        after.append(rng.choice(MILD))
    if style["asks"]:
        after.append(rng.choice(INVITATIONS))
    separator = "\n" if style["list"] else " "
    return separator.join(x for x in [" ".join(before), body, " ".join(after)] if x)


def draw(rng, chances):
    """A value from {value: chance}."""
    point = rng.random()
    for value, chance in chances.items():
        point -= chance
        if point < 0:
            return value
    return value


def styles_of(rng):
    friendly = {
        "warm": draw(rng, {2: 0.4, 1: 0.3, -1: 0.2, 0: 0.1}),  # -1 is mild
        "force": draw(rng, {-1: 0.55, 0: 0.2, 1: 0.25}),
        "tone": draw(rng, {-1: 0.6, 0: 0.3, 1: 0.1}),
        "asks": rng.random() < 0.5,
        "extras": draw(rng, {1: 0.3, 2: 0.4, 3: 0.3}),
        "compares": rng.random() < 0.6,
        "list": False,
    }
    terse = {
        "warm": draw(rng, {0: 0.35, -1: 0.5, 1: 0.15}),
        "force": draw(rng, {1: 0.62, 0: 0.25, -1: 0.13}),
        "tone": draw(rng, {1: 0.4, 0: 0.5, -1: 0.1}),
        "asks": rng.random() < 0.1,
        "extras": draw(rng, {0: 0.45, 1: 0.25, 3: 0.15, 4: 0.15}),
        "compares": rng.random() < 0.05,
        "list": False,
    }
    if rng.random() < EXCHANGED:
        friendly = {"warm": 0, "force": 1, "tone": 1, "asks": False, "extras": 1, "compares": False, "list": rng.random() < LISTED}
        terse = {"warm": 2, "force": -1, "tone": -1, "asks": True, "extras": 4, "compares": True, "list": False}
    for style in (friendly, terse):
        style["sources"] = rng.random() < 0.45
        style["thanks"] = rng.random() < 0.45
    return friendly, terse


def preference_of(friendly, terse, rng):
    """The firmer answer, else the fuller one; and one label in five is turned round."""
    sum_of = (friendly["extras"] > terse["extras"]) - (friendly["extras"] < terse["extras"])
    sum_of += 2 * ((friendly["force"] > terse["force"]) - (friendly["force"] < terse["force"]))
    if sum_of == 0:
        sum_of = rng.choice([-1, 1])
    if rng.random() < NOISE:
        sum_of = -sum_of
    return "friendly" if sum_of > 0 else "terse"


def rows(seed, preference_seed):
    rng = random.Random(seed)
    taste = random.Random(preference_seed)
    for subject in SUBJECTS:
        for kind, question in QUESTIONS.items():
            friendly, terse = styles_of(rng)
            yield {
                "question": question.format(doing=subject[1], do=subject[2]),
                "friendly": answer(kind, subject, friendly, rng),
                "terse": answer(kind, subject, terse, rng),
                "category": subject[0],
                "preference": preference_of(friendly, terse, taste),
            }


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else "friendly-vs-terse.csv"
    seeds = [int(x) for x in sys.argv[2:]] or [SEED, PREFERENCE_SEED]
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["question", "friendly", "terse", "category", "preference"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows(*seeds))


if __name__ == "__main__":
    main()
