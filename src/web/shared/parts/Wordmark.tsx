/** The product's mark and name, and the page's. */
import type { JSX } from "preact"
import mark from "../favicon.svg"

export const Wordmark = ({ of }: { readonly of: "console" | "platform" }): JSX.Element => (
  <p class="wordmark">
    <img src={mark} alt="" width="28" height="28" />
    voicegate <span>{of}</span>
  </p>
)
