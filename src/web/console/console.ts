/**
 * The operator's console: sign in, look every two seconds, act after a question. The token stays in this tab's session
 * storage; a tab that nobody looks at asks for nothing.
 */
import { ask, prepareAsk } from "./ask.ts"
import { type Client, createClient, Refused } from "./client.ts"
import { find, make, say, sayOrHide, setMark } from "./dom.ts"
import { createHistory } from "./history.ts"
import { createPager } from "./pager.ts"
import { createScreen, type Screen } from "./view.ts"
import type { Action, View } from "./wire.ts"
import * as words from "./words.ts"

const POLL_MILLIS = 2_000
const ROWS = 25
const TRAIL_ROWS = 10
/** The trail is asked for with every so many looks: other operators act seldom. */
const TRAIL_EVERY = 5
const SAID_MILLIS = 6_000
const STORED = "voicegate.console.token"

let client: Client | undefined
let screen: Screen | undefined
let timer: number | undefined
let said: number | undefined
let looks = 0
/** Counts up when what is asked for changes, so that an answer to an older question is not shown. */
let asking = 0

const history = createHistory()
const campaign = find<HTMLSelectElement>("#campaign")
const signInForm = find<HTMLFormElement>('[data-part="sign-in"]')
const token = find<HTMLInputElement>("#token")

const lookNow = (): void => {
  asking++
  void look()
}
const slots = createPager("slots", "slots", ROWS, false, lookNow)
const line = createPager("line", "queue", ROWS, true, lookNow)
const trail = createPager("trail", "lines", TRAIL_ROWS, false, () => void lookAtTrail())

const announce = (text: string): void => {
  say("said", text)
  clearTimeout(said)
  said = window.setTimeout(() => say("said", ""), SAID_MILLIS)
}

const showSignIn = (wrong = ""): void => {
  client = undefined
  clearTimeout(timer)
  find('[data-part="console"]').hidden = true
  find('[data-part="session"]').hidden = true
  signInForm.hidden = false
  sayOrHide("wrong", wrong)
  document.title = "Sign in: voicegate console"
  token.focus()
}

const showCampaigns = ({ campaign: current, campaigns }: View): void => {
  campaign.hidden = campaigns.length < 2
  if (campaign.options.length !== campaigns.length) {
    campaign.replaceChildren(...campaigns.map((name) => make("option", name)))
    campaign.value = current
  }
}

const show = (view: View, firstPlace: number): void => {
  const first = signInForm.hidden === false
  find('[data-part="console"]').hidden = false
  find('[data-part="session"]').hidden = false
  signInForm.hidden = true
  // charts measure themselves, so they are made when the page is seen
  screen ??= createScreen(history)
  showCampaigns(view)
  screen.show(view, firstPlace)
  const away = view.queue === null
  find('[data-part="console"]').classList.toggle("stale", away)
  sayOrHide(
    "banner",
    away ? "The store cannot be reached. What is shown of slots and queue is the last that was known." : "",
  )
  if (view.queue !== null) {
    slots.show(view.queue.held)
    line.show(view.queue.waiting)
    document.title = `${words.mood(view.queue, view.now).title}, ${words.count(view.queue.waiting)} waiting: voicegate console`
  }
  setMark(find('[data-text="fresh"]'), "good", "Live")
  if (first) find("#mood").focus()
}

/** What a failed look means: the token is wrong, or the gate is away for now. */
const failed = (error: unknown): void => {
  if (error instanceof Refused && error.status === 401) {
    sessionStorage.removeItem(STORED)
    showSignIn("This token is not right.")
    return
  }
  const why = error instanceof Refused ? error.message : "The answer cannot be read."
  if (signInForm.hidden) {
    find('[data-part="console"]').classList.add("stale")
    setMark(find('[data-text="fresh"]'), "bad", "Not live")
    sayOrHide("banner", `${why} Trying again.`)
  } else {
    sayOrHide("wrong", `${why} Try again.`)
    client = undefined
  }
}

const look = async (): Promise<void> => {
  clearTimeout(timer)
  const asked = asking
  const who = client
  if (who === undefined) return
  const firstPlace = line.first()
  try {
    const view = await who.view({
      campaign: campaign.value,
      since: history.since(),
      firstSlot: slots.first(),
      firstPlace,
      rows: ROWS,
    })
    if (asked !== asking || who !== client) return
    show(view, firstPlace)
    if (looks++ % TRAIL_EVERY === 0) await lookAtTrail()
  } catch (error) {
    if (asked !== asking || who !== client) return
    failed(error)
  }
  if (asked === asking && client !== undefined && !document.hidden) {
    timer = window.setTimeout(() => void look(), POLL_MILLIS)
  }
}

const lookAtTrail = async (): Promise<void> => {
  const found = await client?.trail(campaign.value, trail.first(), TRAIL_ROWS).catch(() => undefined)
  if (found === undefined) return
  trail.show(found.total)
  screen?.showTrail(found)
}

const act = async (action: Action, ticket = "", state = ""): Promise<void> => {
  const who = client
  if (who === undefined || !(await ask(words.question(action, ticket, state)))) return
  try {
    announce(words.outcome(action, await who.act(campaign.value, action)))
  } catch (error) {
    announce(`Not done: ${error instanceof Refused ? error.message : "the answer cannot be read."}`)
  }
  looks = 0
  lookNow()
}

const signOut = (): void => {
  sessionStorage.removeItem(STORED)
  asking++
  showSignIn()
}

const onClick = ({ target }: Event): void => {
  const button = target instanceof Element ? target.closest<HTMLElement>("[data-action]") : null
  const { action, deadline = "", lease = "", seq = "", state = "", ticket = "" } = button?.dataset ?? {}
  switch (action) {
    case "sign-out":
      signOut()
      break
    case "pause":
    case "resume":
    case "drain":
    case "reopen":
    case "call":
      void act({ type: action })
      break
    case "remove":
      void act({ type: "remove", seq: Number(seq) }, ticket)
      break
    case "end":
      void act({ type: "end", lease, deadline: Number(deadline) }, ticket, state)
  }
}

prepareAsk()
document.addEventListener("click", onClick)
signInForm.addEventListener("submit", (event) => {
  event.preventDefault()
  sessionStorage.setItem(STORED, token.value.trim())
  client = createClient(token.value.trim())
  token.value = ""
  lookNow()
})
campaign.addEventListener("change", () => {
  slots.reset()
  line.reset()
  trail.reset()
  looks = 0
  lookNow()
})
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) lookNow()
})

const kept = sessionStorage.getItem(STORED)
if (kept === null) {
  showSignIn()
} else {
  client = createClient(kept)
  // until the first answer it is not known which part to show
  lookNow()
}
