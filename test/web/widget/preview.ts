/** The page that previews the widget, in a frame of a page: each state is a sample. */
import type { Frame, Page } from "playwright-core"

/** The preview of a gate, in a frame as large as that. */
export const previewAt = async (gate: string, tab: Page, width: number, height = 760): Promise<Frame> => {
  await tab.evaluate(`{
    document.querySelector("iframe")?.remove()
    window.ready = false
    addEventListener("message", () => { window.ready = true })
    const frame = Object.assign(document.createElement("iframe"), { src: "${gate}widget/preview", title: "Preview" })
    frame.style.cssText = "inline-size: ${width}px; block-size: ${height}px"
    document.body.append(frame)
  }`)
  await tab.waitForFunction("window.ready")
  const frame = tab.frames().find((each) => each.url().includes("/widget/preview"))
  if (frame === undefined) throw new Error("there is no preview")
  return frame
}

/** Shows a state of the preview’s samples, with these attributes. */
export const tell = (tab: Page, attributes: object, state: string): Promise<void> =>
  tab.evaluate(`document.querySelector("iframe").contentWindow.postMessage(
    { "voicegate-preview": ${JSON.stringify({ attributes, state })} }, "*")`)

/** What an expression finds in the panel. */
export const inPanel = <Found>(frame: Frame, expression: string): Promise<Found> =>
  frame.evaluate<Found>(`(() => {
    const panel = document.querySelector("voice-agent").shadowRoot.querySelector(".panel")
    return ${expression}
  })()`)
