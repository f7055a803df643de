/** The product's name and logo. */
import type { JSX } from "preact"
import mark from "../../shared/favicon.svg"

export const Wordmark = (): JSX.Element => (
  <p class="wordmark">
    <img src={mark} alt="" width="28" height="28" />
    <span class="words">
      voicegate <span>platform</span>
    </span>
  </p>
)
