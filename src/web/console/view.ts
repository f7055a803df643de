/** Shows what the gate answered: state, figures, slots, line, health, instances, trail. */
import { createCharts, REFUSAL_NAMES } from "./charts.ts"
import { find, make, say, setMark, setText } from "./dom.ts"
import type { History } from "./history.ts"
import { createRows, createTableRow, nameButton, type TableRow } from "./rows.ts"
import type { Health, HeldSlot, Instance, Trail, TrailLine, View, WaitingTicket } from "./wire.ts"
import * as words from "./words.ts"

export interface Screen {
  readonly show: (view: View, firstPlace: number) => void
  readonly showTrail: (trail: Trail) => void
}

const cell = ({ cells }: TableRow, n: number): HTMLElement => {
  const found = cells[n]
  if (found === undefined) throw new Error(`the row has no cell ${n}`)
  return found
}

const setCode = (element: HTMLElement, text: string): void => {
  const code = element.firstElementChild ?? element.appendChild(make("code"))
  setText(code, text)
}

const showSwitches = ({ draining, paused }: { readonly draining: boolean; readonly paused: boolean }): void => {
  const shown = { pause: !paused, resume: paused, drain: !draining, reopen: draining }
  for (const [action, visible] of Object.entries(shown)) {
    const button = find<HTMLButtonElement>(`.state [data-action="${action}"]`)
    const focused = button === document.activeElement
    button.hidden = !visible
    // the focus stays with the switch, which is another button now
    if (focused && !visible) {
      const other = { pause: "resume", resume: "pause", drain: "reopen", reopen: "drain" }[action]
      queueMicrotask(() => find(`.state [data-action="${other}"]`).focus())
    }
  }
}

export const createScreen = (history: History): Screen => {
  const charts = createCharts()
  let now = 0
  let firstPlace = 0

  const slots = createRows<HeldSlot, TableRow>({
    name: "slots",
    key: ({ lease }) => lease,
    create: () => createTableRow(4, { label: "End", name: "end" }),
    update: (row, slot) => {
      setCode(cell(row, 0), slot.ticket)
      setMark(cell(row, 1), slot.state === "live" ? "good" : "soon", words.slotState[slot.state])
      setText(cell(row, 2), words.span(now - slot.since))
      setText(cell(row, 3), `in ${words.span(slot.deadline - now)}`)
      nameButton(row, `lease of ${slot.ticket}`)
      if (row.button === undefined) return
      row.button.dataset.lease = slot.lease
      row.button.dataset.deadline = String(slot.deadline)
      row.button.dataset.ticket = slot.ticket
      row.button.dataset.state = slot.state
    },
  })

  const line = createRows<WaitingTicket & { readonly place: number }, TableRow>({
    name: "line",
    key: ({ seq }) => String(seq),
    create: () => createTableRow(4, { label: "Remove", name: "remove" }),
    update: (row, ticket) => {
      setText(cell(row, 0), words.count(ticket.place))
      setCode(cell(row, 1), ticket.ticket)
      setText(cell(row, 2), ticket.acceptedAt === 0 ? "unknown" : words.span(now - ticket.acceptedAt))
      const left = ticket.presentUntil - now
      const [mark = cell(row, 3).appendChild(make("span")), more = cell(row, 3).appendChild(make("span", "", "more"))] =
        cell(row, 3).querySelectorAll("span")
      setMark(mark, left < 0 ? "bad" : "good", left < 0 ? "Absent" : "Present")
      setText(more, left < 0 ? "" : `, ${words.span(left)} left`)
      nameButton(row, ticket.ticket)
      if (row.button === undefined) return
      row.button.dataset.seq = String(ticket.seq)
      row.button.dataset.ticket = ticket.ticket
    },
  })

  const health = createRows<Health, { readonly element: HTMLElement }>({
    name: "health",
    key: ({ name }) => name,
    create: ({ name }) => {
      const element = make("li")
      element.append(make("span", name), make("span"), make("span"))
      return { element }
    },
    update: ({ element }, { says, state }) => {
      const [, mark, text] = element.children
      if (mark instanceof HTMLElement) {
        if (state === "ok") setMark(mark, "good", "Works")
        else if (state === "failed") setMark(mark, "bad", "Fails")
        else setMark(mark, "none", "Checking")
      }
      if (text) setText(text, says)
    },
  })

  const instances = createRows<Instance & { readonly answers: boolean }, TableRow>({
    name: "instances",
    key: ({ id }) => id,
    create: () => createTableRow(5),
    update: (row, { answers, connections, host, id, seenAt, startedAt }) => {
      setCode(cell(row, 0), `${id}${answers ? " (this one)" : ""}`)
      setText(cell(row, 1), host)
      setText(cell(row, 2), words.span(now - startedAt))
      setText(cell(row, 3), words.count(connections))
      setText(cell(row, 4), `${Math.max(0, Math.round((now - seenAt) / 1000))} s ago`)
    },
  })

  const trail = createRows<TrailLine, TableRow>({
    name: "trail",
    key: ({ n }) => String(n),
    create: () => createTableRow(4),
    update: (row, entry) => {
      const [what, result] = words.trailWords(entry)
      setText(cell(row, 0), words.moment(entry.at))
      setText(cell(row, 1), entry.who)
      setText(cell(row, 2), what)
      setText(cell(row, 3), result)
    },
  })

  const showFigures = (view: View, queue: NonNullable<View["queue"]>): void => {
    const { held, meaning, title } = words.mood(queue, now)
    find(".state").dataset.mood = held ? "held" : "open"
    say("mood", title)
    say("meaning", meaning)
    showSwitches(queue)
    say("slots", `${words.count(queue.held)} of ${words.count(view.slots)}`)
    find('[data-bar="slots"]').style.transform = `scaleX(${Math.min(1, queue.held / Math.max(1, view.slots))})`
    const called = `${words.count(queue.held - queue.live - queue.doubts)} called or starting`
    const doubts = queue.doubts === 0 ? "" : `, ${words.count(queue.doubts)} not confirmed`
    say("slots-more", `${words.count(queue.live)} in call, ${called}${doubts}`)
    say("waiting", words.count(queue.waiting))
    say("waiting-more", `${words.count(queue.present)} present`)
    say("longest", queue.firstAcceptedAt === 0 ? "none" : words.span(now - queue.firstAcceptedAt))
    say("average", queue.averageMillis === 0 ? "none" : words.span(queue.averageMillis))
    say("average-more", `${words.count(queue.accepted)} accepted so far`)
  }

  return {
    show: (view, first) => {
      now = view.now
      firstPlace = first
      history.add(view)
      const minutes = history.minutes(now)
      charts(minutes)
      say("refused", words.count(REFUSAL_NAMES.reduce((all, name) => all + minutes.total(name), 0)))
      const [passed, blocked] = [minutes.total("letThroughUnchecked"), minutes.total("ipCheckFailed")]
      say("unchecked", words.count(passed + blocked))
      say("unchecked-more", `${words.count(passed)} let through, ${words.count(blocked)} blocked in the last hour`)
      health.show(view.health)
      // while the store is away the last figures stay, greyed
      if (view.queue === null) return
      showFigures(view, view.queue)
      slots.show(view.queue.slotPage)
      line.show(view.queue.linePage.map((ticket, i) => ({ ...ticket, place: firstPlace + i + 1 })))
      instances.show(view.instances.map((each) => ({ ...each, answers: each.id === view.instance })))
    },
    showTrail: ({ lines }) => trail.show(lines),
  }
}
