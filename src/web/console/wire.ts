/** The console's wire as the page reads it: the gate's own declarations, as types alone. */
export type {
  Action,
  AuditLine as TrailLine,
  Done,
  Health,
  HeldSlot,
  Instance,
  Queue as Figures,
  Trail,
  View,
  WaitingTicket,
} from "../../operator/shapes.ts"
