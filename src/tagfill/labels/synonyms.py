"""Synonyms among tags of photos, English and German: a few plain words only.

They are proposed, never merged unasked. Words that also mean something else are not among them.
"""

from __future__ import annotations

_GROUPS = """
sofa couch settee
car automobile auto pkw
truck lorry lkw lastwagen
bicycle bike fahrrad velo
motorcycle motorbike motorrad
airplane aeroplane plane aircraft flugzeug flieger
bus omnibus
tram streetcar straßenbahn
boat boot
ship schiff
train zug
taxi cab
tv television fernseher tv_monitor
cell_phone mobile_phone mobile cellphone smartphone handy mobiltelefon
fridge refrigerator kühlschrank
glasses eyeglasses spectacles brille
backpack rucksack
handbag purse handtasche
sneakers trainers turnschuhe
trousers hose
sidewalk pavement gehweg bürgersteig
elevator aufzug fahrstuhl
garbage rubbish trash müll
rabbit bunny kaninchen
dog hund
cat katze
horse pferd
cow kuh
sheep schaf
pig schwein
bird vogel
butterfly schmetterling
ladybug ladybird marienkäfer
fish fisch
tree baum
flower blume
forest woods wald
mountain berg
beach strand
sea meer
lake see
river fluss
water wasser
snow schnee
sky himmel
cloud wolke
sunset sonnenuntergang
sunrise sonnenaufgang
night nacht
autumn herbst
summer sommer
spring frühling
house haus
church kirche
castle burg
tower turm
bridge brücke
street straße
city stadt
village dorf
garden garten
window fenster
door tür
table tisch
dining_table esstisch
chair stuhl
bottle flasche
people menschen leute
child kid kind
baby infant säugling
woman frau
man mann
family familie
friends freunde
mother mom mum mutter
father dad vater
grandmother grandma oma großmutter
grandfather grandpa opa großvater
wedding hochzeit
birthday geburtstag
christmas weihnachten xmas
vacation urlaub
movie film
theater theatre
gray grey grau
black_and_white schwarzweiß bw monochrome
potato kartoffel
carrot möhre karotte
eggplant aubergine
zucchini courgette
donut doughnut
corn maize mais
bread brot
cake kuchen
apple apfel
"""

SYNONYMS = tuple(
    tuple(word.replace("_", " ") for word in line.split()) for line in _GROUPS.strip().splitlines()
)
"""Groups of words for one thing."""
