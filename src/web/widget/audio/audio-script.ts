/** `audio.js` of the gate: the audio worklet, and the worker that holds the session's WebSocket. */
import { gateUrl, type VoiceAgentOptions } from "../client/options.ts"

export const audioScriptUrl = (options: VoiceAgentOptions): URL =>
  options.worklet === undefined ? gateUrl(options, "widget/audio.js") : new URL(options.worklet, document.baseURI)

/**
 * Loads the script as data and gives it an address of this page: for a worker, which must be of the page's origin, and for a page whose
 * content security policy allows `blob:` but no scripts of the gate. Fails if it cannot be loaded.
 */
export const withBlobOf = async <A>(script: URL, use: (address: string) => Promise<A>): Promise<A> => {
  const response = await fetch(script)
  if (!response.ok) throw new Error(response.statusText)
  const address = URL.createObjectURL(new Blob([await response.text()], { type: "text/javascript" }))
  try {
    return await use(address)
  } finally {
    URL.revokeObjectURL(address)
  }
}
