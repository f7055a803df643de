/** Somebody else at a gate, whose call takes a slot. */
import { once } from "node:events"
import { WebSocket } from "ws"

/** Begins a call at a gate that has a free slot; the answer hangs it up. */
export const holdSlot = async (gate: string): Promise<() => void> => {
  const response = await fetch(new URL("api/session/request", gate), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  })
  const answer: { readonly webSocketUrl?: string } = JSON.parse(await response.text())
  const socket = new WebSocket(answer.webSocketUrl ?? "")
  await once(socket, "open")
  return () => socket.close()
}
