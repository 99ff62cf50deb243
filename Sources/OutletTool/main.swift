print("outlet")
