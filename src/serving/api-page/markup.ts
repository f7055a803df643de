/** Text as HTML. Everything that comes from an API's description passes one of these functions. */

export const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")

export const code = (text: string): string => `<code>${escaped(text)}</code>`

/** A description on one line: code spans, and links to paths of the same server. Any other Markdown stays as it is written. */
export const inline = (markdown: string): string =>
  escaped(markdown.replaceAll(/\s*\n\s*/g, " "))
    .replaceAll(/`([^`]+)`/g, "<code>$1</code>")
    .replaceAll(/\[([^\]]+)\]\(([\w./#-]+)\)/g, '<a href="$2">$1</a>')

/** A description with a paragraph for each block of lines. */
export const paragraphs = (markdown: string): string =>
  markdown
    .split(/\n{2,}/)
    .filter((block) => block.trim() !== "")
    .map((block) => `<p>${inline(block.trim())}</p>`)
    .join("\n")

/** The id of an element that a link names. */
export const slug = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")
