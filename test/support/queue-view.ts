/** What an operator sees of a campaign in which nothing happens. */
export const EMPTY_VIEW = {
  waiting: 0,
  present: 0,
  held: 0,
  live: 0,
  averageMillis: 0,
  backoffUntil: 0,
  disrupted: false,
  probeUntil: 0,
  doubts: 0,
  paused: false,
  draining: false,
  accepted: 0,
  firstAcceptedAt: 0,
  slotPage: [],
  waitingPage: [],
}
