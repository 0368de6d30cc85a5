"""The made-up region: its places, its vocabularies, and how common each value is at each age.

Nothing here describes a real place or real people. The shares follow well-known shapes (a register of
chronic conditions is older than the population, widows outnumber widowers, younger people studied
longer) and are no statistics of any country. They are weights: only their ratios within a row count.
"""

from __future__ import annotations

# Region, district, municipality: relative size. The first municipality of a district is its centre.
PLACES: dict[str, dict[str, dict[str, float]]] = {
    "Nordmark": {
        "Harrowfell": {"Harrowfell": 5.2, "Stagwick": 1.9, "Penmoor": 1.2, "Ottersby": 0.9, "Coldtarn": 0.6},
        "Greywater": {
            "Greywater": 3.4,
            "Tarnholt": 1.5,
            "Lindrick Moss": 1.1,
            "Brackenrow": 0.8,
            "Ashgyll": 0.5,
        },
        "Keldmoor": {"Keldmoor": 2.4, "Rookmere": 1.1, "Sallowby": 0.8, "Thornrigg": 0.6, "Upper Keld": 0.4},
    },
    "Mittenshire": {
        "Merewick": {
            "Merewick Centre": 12.5,
            "Merewick North": 8.6,
            "Merewick South": 7.9,
            "Merewick Quays": 4.8,
            "Hallowfield": 3.1,
        },
        "Oakhollow": {
            "Oakhollow": 4.1,
            "Dunmarsh": 1.8,
            "Elderwold": 1.3,
            "Winnowfield": 0.9,
            "Castle Prior": 0.7,
        },
        "Larkdown": {
            "Larkdown": 3.0,
            "Mossbarrow": 1.4,
            "Quillford": 1.0,
            "Farrowden": 0.7,
            "Little Lark": 0.5,
        },
    },
    "Sudcoast": {
        "Saltmouth": {
            "Saltmouth": 6.3,
            "Gullhaven": 2.7,
            "Pebblestrand": 1.6,
            "Marramness": 1.0,
            "Driftwick": 0.6,
        },
        "Vinewell": {
            "Vinewell": 3.7,
            "Sunderlea": 1.7,
            "Appledene": 1.1,
            "Chalkbourne": 0.8,
            "Nether Vine": 0.5,
        },
    },
}
CITIES = ("Merewick Centre", "Merewick North", "Merewick South", "Merewick Quays", "Saltmouth", "Harrowfell")

SEXES = ("female", "male")
FEMALE_SHARE = ((0, 40, 65, 75, 85, 95, 105), (0.47, 0.51, 0.50, 0.53, 0.60, 0.70, 0.80))

# People in a register of chronic conditions, by age.
AGE = ((0, 10, 20, 30, 45, 60, 70, 78, 85, 92, 98, 105), (3, 7, 9, 12, 19, 30, 32, 27, 16, 5, 1, 0.05))

EDUCATION_AGES = (18, 22, 27, 35, 50, 65, 80, 105)
EDUCATION = {
    "none completed": (1, 1, 1, 1, 2, 3, 6, 10),
    "primary": (3, 3, 3, 4, 6, 12, 25, 40),
    "lower secondary": (30, 15, 12, 12, 15, 20, 25, 22),
    "upper secondary": (61, 40, 22, 20, 20, 18, 14, 10),
    "vocational": (5, 30, 30, 30, 32, 27, 18, 10),
    "bachelor": (0, 10, 20, 18, 13, 11, 6, 4),
    "master": (0, 1, 11, 13, 10, 8, 5, 3),
    "doctorate": (0, 0, 1, 2, 2, 1, 1, 1),
}
HIGHER_EDUCATION = ("bachelor", "master", "doctorate")

MARITAL_AGES = (18, 25, 35, 50, 65, 75, 85, 105)
MARITAL_STATUS = {
    "never married": (99, 85, 42, 18, 9, 6, 5, 5),
    "married": (1, 12, 44, 57, 62, 56, 34, 12),
    "registered partnership": (0, 2, 5, 4, 2, 1, 1, 0),
    "separated": (0, 0.5, 3, 4, 3, 2, 1, 0),
    "divorced": (0, 0.5, 6, 15, 15, 11, 7, 4),
    "widowed": (0, 0, 0.5, 2, 9, 24, 52, 79),
}

# Work by education (columns as in EDUCATION), and how much more common it is among women.
WORK = {
    "managers": ((1, 1, 2, 6, 5, 12, 20, 18), 0.75),
    "professionals": ((0, 0, 1, 4, 4, 45, 58, 76), 1.10),
    "technicians": ((1, 2, 4, 14, 16, 20, 12, 5), 0.95),
    "clerical work": ((2, 4, 10, 22, 14, 11, 6, 1), 1.40),
    "services and sales": ((15, 20, 30, 30, 24, 8, 3, 0), 1.35),
    "farming and fishing": ((14, 12, 6, 3, 4, 1, 0.3, 0), 0.60),
    "crafts": ((12, 14, 16, 9, 22, 2, 0.5, 0), 0.20),
    "plant and transport": ((15, 17, 14, 8, 9, 1, 0.2, 0), 0.35),
    "elementary work": ((40, 30, 17, 4, 2, 1, 0.2, 0), 1.15),
}
OUT_OF_WORK = ("child or student", "unemployed", "at home or unable to work", "retired")
STUDENT_SHARE = ((15, 16, 18, 21, 25, 30, 40), (1.0, 0.97, 0.75, 0.40, 0.14, 0.03, 0.0))
RETIRED_SHARE = ((50, 55, 60, 64, 67, 75), (0.0, 0.03, 0.16, 0.50, 0.92, 0.985))
UNEMPLOYED_SHARE = 0.06
AT_HOME_SHARE = {"female": 0.15, "male": 0.07}

BIRTH_ELSEWHERE = {
    "elsewhere in the country": 10.0,
    "neighbouring country": 4.0,
    "rest of Europe": 4.0,
    "Africa": 2.2,
    "Asia": 3.2,
    "Americas and Oceania": 1.4,
}
BIRTH_OTHER_REGION, BIRTH_OWN_REGION = 6.0, 66.0
ABROAD = ("neighbouring country", "rest of Europe", "Africa", "Asia", "Americas and Oceania")

# Main chronic diagnosis by age, how much more common among women, and the mean log cost of a quarter.
DIAGNOSIS_AGES = (0, 15, 30, 45, 60, 75, 90, 105)
DIAGNOSIS = {
    "hypertension": ((0.2, 0.5, 3, 12, 20, 22, 20, 18), 0.95, 5.5),
    "heart disease": ((1, 1, 1.5, 4, 9, 16, 24, 28), 0.75, 7.0),
    "diabetes": ((2, 4, 5, 10, 14, 13, 9, 6), 0.85, 6.5),
    "chronic lung disease": ((0.5, 0.5, 1, 3, 8, 10, 8, 5), 0.80, 6.7),
    "asthma": ((40, 30, 17, 9, 6, 5, 4, 3), 1.10, 5.4),
    "cancer": ((3, 2, 3, 7, 12, 13, 9, 6), 1.00, 8.2),
    "mental disorder": ((20, 32, 34, 24, 12, 6, 6, 6), 1.25, 6.5),
    "musculoskeletal disorder": ((4, 8, 16, 22, 19, 13, 9, 8), 1.30, 6.1),
    "kidney disease": ((3, 2, 2, 3, 4, 7, 9, 10), 0.90, 7.8),
    "neurological disorder": ((26, 20, 17, 9, 6, 9, 14, 14), 1.15, 7.1),
}

# Cost of care in the quarter; the numbers are the bands' lower ends.
CARE_COST = {"under 250": 0, "250-749": 250, "750-1999": 750, "2000-4999": 2000, "5000 and over": 5000}
COST_PER_YEAR_OF_AGE, COST_SPREAD, COST_MEMORY = 0.008, 0.9, 0.6

# Share of people of whom the register does not know a value.
MISSING = {"education": 0.018, "marital_status": 0.010, "occupation_group": 0.015, "birth_region": 0.020}
