/** The demo page: puts visits and the view together. A tab makes one visit at a time. */
import type { SourceKind } from "./audio.ts"
import { forget, recall } from "./ticket-store.ts"
import { createView } from "./view.ts"
import { Visit } from "./visit.ts"

let visit: Visit | undefined
let muted = false

const newVisit = (): Visit => {
  visit?.leave()
  const mine: Visit = new Visit({
    // A visit that was replaced has nothing to show any more.
    show: (state) => {
      if (visit !== mine) return
      muted = state.name === "in-call" && state.muted
      view.show(state)
    },
    message: view.message,
    said: view.said,
    heard: view.heard,
  })
  visit = mine
  return mine
}

const begin = (kind: SourceKind): void => void newVisit().begin(kind)

const idle = (): void => {
  visit?.leave()
  visit = undefined
  view.show({ name: "idle" })
}

const actions: Readonly<Record<string, () => void>> = {
  begin: () => begin("microphone"),
  "begin-tone": () => begin("tone"),
  start: () => void visit?.start(undefined),
  "start-tone": () => void visit?.start("tone"),
  mute: () => visit?.setMuted(!muted),
  "hang-up": () => visit?.hangUp(),
  retry: () => visit?.retry(),
  cancel: idle,
}

const view = createView((action) => actions[action]?.())

const remembered = recall()
if (remembered === undefined) view.show({ name: "idle" })
else if (!(await newVisit().resume(remembered))) {
  forget()
  idle()
}
