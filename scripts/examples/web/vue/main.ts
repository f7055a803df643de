/** The widget in Vue 3. The compiler needs `isCustomElement: (tag) => tag === "voice-agent"`. */
import { createApp } from "vue"
import Support from "./Support.vue"

createApp(Support).mount("#app")
