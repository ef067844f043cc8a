# Reads a run's results with R alone: Rscript read_results.R runs/NAME/results
folder <- commandArgs(trailingOnly = TRUE)[1]
read <- function(name) read.csv(file.path(folder, paste0(name, ".csv")), encoding = "UTF-8")
vibes <- read("vibes")
scores <- read("scores")
rows <- read("rows")
print(vibes[, c("name", "kept", "sep_test", "mm_coefficient")])
print(aggregate(score ~ vibe_id + judge, scores, mean)) # a missing score is NA, never 0
print(tapply(rows$mm_correct, rows$split, mean, na.rm = TRUE))
