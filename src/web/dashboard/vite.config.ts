/** Builds the dashboard into `dist/web/dashboard`. */
import type { UserConfig } from "vite"
import { pageConfig } from "../vite.config.ts"

const config: UserConfig = {
  ...pageConfig("dashboard"),
  // the look is shared, and so is its mark
  publicDir: false,
}

export default config
