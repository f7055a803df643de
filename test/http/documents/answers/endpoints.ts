/** The endpoints of the document, and requests of the host's programs with their tokens. */
import { REQUEST, VENDOR_WEBHOOK, WEBHOOK } from "../../support.ts"
import type { Ask } from "../openapi-check.ts"

/** A ticket that does not exist. */
export const NOBODY = "n".repeat(22)
/** The headers of a page that the gate does not know. */
export const foreign = { origin: "https://evil.example" }

export const AVAILABILITY = "/api/availability"

export const ENDPOINTS = [
  ["POST", REQUEST],
  ["GET", `/api/session/${NOBODY}`],
  ["DELETE", `/api/session/${NOBODY}`],
  ["POST", `/api/session/${NOBODY}/leave`],
  ["POST", `/api/session/${NOBODY}/start`],
  ["POST", `/api/session/${NOBODY}/relay`],
  ["POST", `/api/session/${NOBODY}/silence`],
  ["GET", `/api/session/${NOBODY}/events`],
  ["POST", WEBHOOK],
  ["POST", VENDOR_WEBHOOK],
  ["GET", "/api/events"],
  ["GET", "/api/budgets/team"],
  ["POST", "/api/budgets/team"],
  ["GET", AVAILABILITY],
  ["GET", "/health/live"],
  ["GET", "/health/ready"],
] as const

const EVENTS_TOKEN = "the-token-of-the-events"
/** Settings of a campaign whose events can be read. */
export const events = { Events: { Token: [EVENTS_TOKEN] } }
export const readEvents = (ask: Ask, query = "") =>
  ask("GET", `/api/events${query}`, { headers: { authorization: `Bearer ${EVENTS_TOKEN}` } })

const BUDGETS_TOKEN = "the-token-of-the-budgets"
/** Settings of a campaign with budgets. */
export const budgets = {
  Budget: { Token: BUDGETS_TOKEN },
  Budgets: [
    { Name: "team", Of: "campaign", Unit: "minutes", Per: "day", Cap: 3 },
    { Name: "own", Of: "caller", Unit: "minutes", Per: "day", Cap: 3 },
  ],
  // offered to who is refused
  Overflow: { AfterSeconds: 86_400, Offers: ["Call us tel:+4930123456"] },
}
export const budgetsOf = (ask: Ask) => {
  const headers = { authorization: `Bearer ${BUDGETS_TOKEN}` }
  return {
    read: (path: string) => ask("GET", `/api/budgets/${path}`, { headers }),
    adjust: (name: string, body: unknown, more = {}) =>
      ask("POST", `/api/budgets/${name}`, { body, headers: { ...headers, ...more } }),
  }
}
