/**
 * The moving picture: three tabs of one page. Two talk, the third waits; a call ends, and it is the third one's turn. A frame takes as long
 * as the machine needs for three screenshots, and is shown for a tenth of a second.
 */
import type { Page } from "playwright-core"
import { decoder, encodeGif, type Frame } from "./gif.ts"
import { LETTERS, type Lines, PATIENCE, type Program, type Theme } from "./program.ts"

const TAB = { width: 316, height: 468, scale: 1.5 }
/** How long a frame is shown, in milliseconds. */
const FRAME = 120
/** “Your turn”: how many frames, and how long each is shown (ms). */
const TURN_FRAMES = 4
const TURN_FRAME = 360
/** How long the last one stands, before it begins again. */
const REST = 1_500

/** What is said in the three calls. */
const CALLS: ReadonlyArray<ReadonlyArray<readonly ["agent" | "caller", string]>> = [
  [
    ["agent", "Hi, this is Ada. How can I help?"],
    ["caller", "Where is my order?"],
    ["agent", "It left our warehouse this morning."],
    ["caller", "Great, thank you!"],
  ],
  [
    ["agent", "Hi, this is Ada. How can I help?"],
    ["caller", "I’d like to change my booking."],
    ["agent", "Of course. To which day?"],
    ["caller", "Friday, if you can."],
  ],
  [
    ["agent", "Hi, this is Ada. How can I help?"],
    ["caller", "Do you ship to Norway?"],
  ],
]

/** The first button: who comes after the first calls have ended is told the wait. */
const BEGIN = /^(Start a call|Join the queue)$/

interface Tab {
  readonly page: Page
  /** says the next line of its call */
  readonly next: () => void
  readonly button: (name: string | RegExp) => Promise<void>
}

const openTab = async (program: Program, theme: Theme, call: number): Promise<Tab> => {
  let next = (): void => {}
  const lines: Lines = (say) => {
    const left = [...(CALLS[call] ?? [])]
    next = () => {
      const [role, text] = left.shift() ?? []
      if (text !== undefined) say(text, role)
    }
    next()
  }
  const page = await program.openShop({
    ...TAB,
    theme,
    widget: 'agent-name="Ada" heading="Talk to Ada" check="off"',
    style: `body { padding: 12px } voice-agent { --most: ${TAB.height - 24}px; --voice-agent-font: var(--sans) }`,
    lines,
  })
  return { page, next: () => next(), button: (name) => page.getByRole("button", { name, exact: true }).click() }
}

/** Between the tabs, and around them. */
const GAP = 18
const BAR = 36

const FRAME_PAGE = `<!doctype html><meta charset="utf-8"><style>
  ${LETTERS}
  body { display: grid; grid-template-columns: repeat(3, auto); gap: ${GAP}px; margin: 0; padding: ${GAP}px;
    background: var(--ground); color: var(--ink); font: 500 13px/1 Inter, sans-serif }
  figure { margin: 0; overflow: hidden; border: 1px solid var(--line); border-radius: 12px; background: var(--bar) }
  figcaption { display: flex; align-items: center; gap: 8px; height: ${BAR}px; padding: 0 12px; white-space: nowrap }
  figcaption i { width: 10px; height: 10px; border-radius: 50%; background: var(--line) }
  figcaption b { flex: 1; overflow: hidden; margin-left: 4px; padding: 7px 10px; border-radius: 8px; background: var(--page); font-weight: 500; text-overflow: ellipsis }
  figcaption b.turn { background: var(--accent); color: var(--on) }
  figure div { position: relative; width: ${TAB.width}px; height: ${TAB.height}px }
  img { display: block; width: 100%; height: 100% }
  u { position: absolute; width: 44px; height: 44px; margin: -22px; border-radius: 50%; background: #8888; box-shadow: 0 0 0 2px #fff8 }
  body.light { --ground: #e9ebe8; --ink: #1b1d1c; --line: #cfd3cf; --bar: #dfe3df; --page: #fff; --accent: #0b6e4f; --on: #fff }
  body.dark { --ground: #0d1117; --ink: #eceeed; --line: #333a37; --bar: #20262a; --page: #131615; --accent: #56c596; --on: #08130e }
</style><body></body>`

interface Tap {
  readonly tab: number
  readonly x: number
  readonly y: number
}

/** Takes the picture of one theme. */
export const threeTabs = async (program: Program, theme: Theme): Promise<Uint8Array> => {
  const tabs = [await openTab(program, theme, 0), await openTab(program, theme, 1), await openTab(program, theme, 2)]
  /** What was filmed, to be put together afterwards: filming is to be quick. */
  const filmed: Array<Filmed> = []

  const photograph = async (taps: ReadonlyArray<Tap> = [], millis = FRAME): Promise<void> => {
    const shots = await Promise.all(
      tabs.map(async ({ page }, tab) => ({
        src: (await page.screenshot()).toString("base64"),
        title: await page.title(),
        taps: taps.filter((tap) => tap.tab === tab),
      })),
    )
    filmed.push({ shots, millis })
  }
  const film = async (count: number, each: (frame: number) => void = () => {}): Promise<void> => {
    for (let frame = 0; frame < count; frame++) {
      each(frame)
      await photograph()
    }
  }
  /** Shows the finger before it taps. */
  const tap = async (tab: number, name: string | RegExp): Promise<void> => {
    const box = await tabs[tab]?.page.getByRole("button", { name, exact: true }).boundingBox()
    const place = { tab, x: (box?.x ?? 0) + (box?.width ?? 0) / 2, y: (box?.y ?? 0) + (box?.height ?? 0) / 2 }
    await photograph([place])
    await photograph([place])
    await tabs[tab]?.button(name)
  }

  for (const tab of [0, 1]) {
    await tabs[tab]?.button(BEGIN)
    await tabs[tab]?.page.getByText("Hi, this is Ada").first().waitFor()
  }
  tabs[1]?.next()
  await film(4)
  await tap(2, BEGIN)
  await tabs[2]?.page.getByText("You’re next.").first().waitFor()
  await film(16, (frame) => {
    if (frame === 3 || frame === 9) tabs[0]?.next()
    if (frame === 6 || frame === 12) tabs[1]?.next()
  })
  await tap(0, "Hang up")
  await tabs[2]?.page.getByRole("heading", { name: "Your turn" }).waitFor()
  // long enough to be read, in few frames: on a slow machine the turn would be over
  for (let frame = 0; frame < TURN_FRAMES; frame++) await photograph([], TURN_FRAME)
  await tap(2, "Start the call")
  await tabs[2]?.page.getByText("Hi, this is Ada").first().waitFor()
  await film(14, (frame) => {
    if (frame === 7) tabs[2]?.next()
  })
  await Promise.all(tabs.map(({ page }) => page.context().close()))
  return encodeGif(await develop(program, theme, filmed))
}

/** What one tab showed in a frame. */
interface Shot {
  /** PNG, base64 */
  readonly src: string
  readonly title: string
  readonly taps: ReadonlyArray<Tap>
}

/** What all tabs showed at one moment, and how long that is shown (ms). */
interface Filmed {
  readonly shots: ReadonlyArray<Shot>
  readonly millis: number
}

/** Puts the tabs of each frame side by side. */
const develop = async (
  program: Program,
  theme: Theme,
  filmed: ReadonlyArray<Filmed>,
): Promise<ReadonlyArray<Frame>> => {
  const context = await program.browser.newContext({
    viewport: { width: 3 * (TAB.width + 2) + 4 * GAP, height: TAB.height + BAR + 2 + 2 * GAP },
    deviceScaleFactor: TAB.scale,
  })
  const easel = await context.newPage()
  easel.setDefaultTimeout(PATIENCE)
  await easel.setContent(FRAME_PAGE)
  const pixelsOf = await decoder(easel)
  const frames: Array<Frame> = []
  for (const [index, { millis, shots }] of filmed.entries()) {
    const figures = shots.map(({ src, taps, title }) => {
      const fingers = taps.map(({ x, y }) => `<u style="left:${x}px;top:${y}px"></u>`).join("")
      const turn = title.startsWith("●") ? ' class="turn"' : ""
      return `<figure><figcaption><i></i><i></i><i></i><b${turn}>${title}</b></figcaption><div><img src="data:image/png;base64,${src}">${fingers}</div></figure>`
    })
    await easel.evaluate(
      `document.body.className = ${JSON.stringify(theme)}, document.body.innerHTML = ${JSON.stringify(figures.join(""))}, Promise.all([...document.images].map((image) => image.decode())).then(() => {})`,
    )
    const pixels = await pixelsOf(await easel.screenshot())
    frames.push({ ...pixels, millis: index === filmed.length - 1 ? REST : millis })
  }
  await context.close()
  return frames
}
