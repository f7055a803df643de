/** The settings `Hours` and `Overflow` of campaigns. */
import { assert, describe, it } from "@effect/vitest"
import { offersOf } from "../../src/settings/groups/overflow.ts"
import { type Json, minimal, platform, problemsOf, treeOf } from "./support.ts"

const withPlatform = (more: Json): Json => ({ ...minimal, VoiceAiPlatform: { ...platform, ...more } })
const WEEK = { Zone: "Europe/Berlin", Open: ["Mon-Fri 09:00-18:00", "Sat 10:00-14:00"] }

describe("hours", () => {
  it("are absent until they are set", () => {
    assert.notProperty(treeOf(minimal).Campaigns[0], "Hours")
    assert.notProperty(treeOf(withPlatform({ Hours: { AfterCloseMinutes: 5 } })).Campaigns[0], "Hours")
  })

  it("are inherited, each setting by itself, unless a campaign says otherwise", () => {
    const { Campaigns } = treeOf(
      withPlatform({
        Hours: { ...WEEK, Closed: "Dec 25" },
        Campaigns: {
          same: { WebCampaignId: "campaign-2" },
          other: { WebCampaignId: "campaign-3", Hours: { Open: "Sun 10:00-12:00" } },
          always: { WebCampaignId: "campaign-4", Hours: { Open: "always" } },
          none: { WebCampaignId: "campaign-5", Hours: { Open: "always", Closed: "never" } },
        },
      }),
    )
    assert.deepStrictEqual(
      Campaigns.map(({ Hours }) => Hours && [Hours.Open, Hours.Closed]),
      [
        [WEEK.Open, ["Dec 25"]],
        [WEEK.Open, ["Dec 25"]],
        [["Sun 10:00-12:00"], ["Dec 25"]],
        [[], ["Dec 25"]],
        undefined,
      ],
    )
  })

  it("can be set in the environment", () => {
    const [{ Hours }] = treeOf(minimal, {
      VoiceAiPlatform__Hours__Zone: "America/New_York",
      VoiceAiPlatform__Hours__Open__0: "Mon-Fri 09:00-12:00, 13:00-18:00",
      VoiceAiPlatform__Hours__Open__1: "Fri-Sat 20:00-02:00",
      VoiceAiPlatform__Hours__AfterCloseMinutes: "10",
    }).Campaigns
    assert.deepStrictEqual(Hours, {
      Zone: "America/New_York",
      Open: ["Mon-Fri 09:00-12:00, 13:00-18:00", "Fri-Sat 20:00-02:00"],
      Closed: [],
      AfterCloseMinutes: 10,
    })
  })

  it.each([
    [{ ...WEEK, Zone: "Europe/Berlim" }, "VoiceAiPlatform.Hours.Zone", "the name of a time zone"],
    [{ ...WEEK, Zone: "EST" }, "VoiceAiPlatform.Hours.Zone", "the name of a time zone"],
    [{ Open: WEEK.Open }, "VoiceAiPlatform.Hours.Zone", "the time zone of the hours"],
    [
      { ...WEEK, Open: ["Mon 09:00-18:00", "Tue 09:00-25:00"] },
      "VoiceAiPlatform.Hours.Open.1",
      "times from 00:00 to 24:00",
    ],
    [{ ...WEEK, Open: ["Mon 09:00-09:00"] }, "VoiceAiPlatform.Hours.Open.0", "two different times"],
    [{ ...WEEK, Closed: ["2026-12-26 to 2026-12-24"] }, "VoiceAiPlatform.Hours.Closed.0", "not before the first"],
    [{ ...WEEK, Closed: "2026-02-29" }, "VoiceAiPlatform.Hours.Closed", "a date that exists"],
    [{ ...WEEK, AfterCloseMinutes: 1441 }, "VoiceAiPlatform.Hours.AfterCloseMinutes", "from 0 to 1440"],
    [{ ...WEEK, Holidays: "Dec 25" }, "VoiceAiPlatform.Hours.Holidays", "a known setting"],
  ])("that are wrong name the item and what was expected: %o", (Hours, path, expected) => {
    const [problem, ...others] = problemsOf(withPlatform({ Hours }))
    assert.strictEqual(problem?.path, path)
    assert.include(problem?.expected, expected)
    assert.deepStrictEqual(others, [])
  })
})

describe("offers", () => {
  it("say what they are by where they lead", () => {
    const { Campaigns } = treeOf(
      withPlatform({
        Overflow: {
          Offers: [
            "Call the shop: tel:+49-30-123456",
            "Write to us https://shop.example/contact",
            "Sales campaign:sales",
          ],
        },
        Campaigns: { sales: { WebCampaignId: "campaign-2" } },
      }),
    )
    const offers = Campaigns.map(({ name, Overflow }) => (Overflow === undefined ? [] : offersOf(name, Overflow)))
    const number = { kind: "number", label: "Call the shop", target: "tel:+4930123456" }
    const link = { kind: "link", label: "Write to us", target: "https://shop.example/contact" }
    // an inherited offer of itself is left out
    assert.deepStrictEqual(offers, [
      [number, link, { kind: "campaign", label: "Sales", target: "sales" }].map((each) => each),
      [number, link],
    ] as never)
    assert.strictEqual(Campaigns[0].Overflow?.AfterSeconds, 120)
    assert.notProperty(treeOf(minimal).Campaigns[0], "Overflow")
  })

  it.each([
    ["Write to us http://shop.example", "begins with https://"],
    ["Write to us https://user:word@shop.example", "begins with https://"],
    ["Run javascript:alert(1)", "begins with https://"],
    ["Call us tel:12", "a telephone number"],
    ["tel:+4930123456", "a label"],
    ["Call the shop", "a label and where it leads"],
    [
      "Sales campaign:elsewhere",
      "a campaign of these settings; they have default, sales. Add elsewhere below VoiceAiPlatform.Campaigns",
    ],
    ["Here campaign:default", "another campaign"],
  ])("that are wrong name the item and what was expected: %s", (offer, expected) => {
    const [problem, ...others] = problemsOf(
      withPlatform({
        Overflow: { Offers: ["Call the shop tel:+4930123456", offer] },
        Campaigns: { sales: { WebCampaignId: "campaign-2" } },
      }),
    )
    assert.strictEqual(problem?.path, "VoiceAiPlatform.Overflow.Offers.1")
    assert.include(problem?.expected, expected)
    assert.deepStrictEqual(others, [])
  })

  it.each([[[0]], [[1]], [[0, 2]]])("are checked however their variables are numbered: %j", (numbers) => {
    const env = Object.fromEntries(
      numbers.map((n) => [`VoiceAiPlatform__Overflow__Offers__${n}`, "Ask sales campaign:nobody"]),
    )
    assert.isNotEmpty(problemsOf(minimal, env))
  })
})
