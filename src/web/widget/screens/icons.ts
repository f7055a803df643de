/** Icons in the colour of their text, drawn without HTML strings, which a page's Trusted Types may forbid. */

const SVG = "http://www.w3.org/2000/svg"

const shape = (tag: string, attributes: Readonly<Record<string, string>>): SVGElement => {
  const element = document.createElementNS(SVG, tag)
  for (const name in attributes) element.setAttribute(name, attributes[name] ?? "")
  return element
}

/** An icon of lines, each a path in a square of 24; a class follows its path after `|`. */
const icon = (...lines: ReadonlyArray<string>): SVGElement => {
  const element = shape("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true" })
  for (const line of lines) {
    const [d = "", kind = ""] = line.split("|")
    element.append(shape("path", { d, class: kind }))
  }
  return element
}

/** A microphone; the stroke through it, of class `stroke`, is shown by the style of a pressed button. */
export const microphoneIcon = (): SVGElement =>
  icon("M9 6v6a3 3 0 0 0 6 0V6a3 3 0 0 0-6 0M5 12a7 7 0 0 0 14 0M12 19v3", "M4 4l16 16|stroke")

/** A telephone receiver that is put down. */
export const hangUpIcon = (): SVGElement => icon("M3 14c0-8 18-8 18 0l-2 2-4-2v-3a9 9 0 0 0-6 0v3l-4 2z")

/** Closes a panel that can be opened again: it folds downward. */
export const closeIcon = (): SVGElement => icon("M6 9l6 6 6-6")

/** Captions: a screen with lines of text. */
export const captionsIcon = (): SVGElement => icon("M4 5h16v14H4zM7.5 11h4M14.5 11h2M7.5 15h2M12.5 15h4")

export const starIcon = (): SVGElement =>
  icon("M12 3.6l2.6 5.3 5.8.8-4.2 4.1 1 5.8-5.2-2.7-5.2 2.7 1-5.8-4.2-4.1 5.8-.8z")

export const copyIcon = (): SVGElement => icon("M9 9h11v11H9zM5 15H4V4h11v1")
