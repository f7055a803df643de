/** The stock SignalR client, as the existing widget uses it. */
import { type HubConnection, HubConnectionBuilder, LogLevel } from "@microsoft/signalr"
import { Effect } from "effect"
import { begin, enqueue } from "../../support/gate.ts"

export interface Widget {
  readonly connection: HubConnection
  /** Waits for the next event of the hub: its name and its argument. */
  readonly nextEvent: Effect.Effect<readonly [string, Record<string, string>]>
  readonly register: (ticket: string) => Effect.Effect<unknown>
}

/** A client that is connected; stopped with the scope. */
export const connectWidget = (url: string) =>
  Effect.acquireRelease(
    Effect.promise(async (): Promise<Widget> => {
      const connection = new HubConnectionBuilder()
        .withUrl(`${url}/sessionHub`)
        .withAutomaticReconnect([0, 100])
        .configureLogging(LogLevel.None)
        .build()
      const events: Array<readonly [string, Record<string, string>]> = []
      let wake = (): void => {}
      for (const name of ["SessionReady", "SessionFailed"]) {
        connection.on(name, (argument: Record<string, string>) => {
          events.push([name, argument])
          wake()
        })
      }
      await connection.start()
      return {
        connection,
        register: (ticket) => Effect.promise(() => connection.invoke("Register", ticket)),
        nextEvent: Effect.promise(async () => {
          for (;;) {
            const event = events.shift()
            if (event !== undefined) return event
            await new Promise<void>((resolve) => {
              wake = resolve
            })
          }
        }),
      }
    }),
    ({ connection }) => Effect.promise(() => connection.stop()),
  )

/** A widget whose ticket waits behind a call. */
export const registeredWidget = Effect.fnUntraced(function* (url: string) {
  yield* begin()
  const ticket = yield* enqueue()
  const widget = yield* connectWidget(url)
  yield* widget.register(ticket)
  return { ...widget, ticket }
})
